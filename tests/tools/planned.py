# SPDX-License-Identifier: Apache-2.0
"""Jobs of the daemon that give their traces and get plans made for all of them together."""
import fcntl
import os
import socket
import struct

import talk

ADD_SEALS, SHRINK, GROW, WRITE = 1033, 2, 4, 8
TRACE, PLAN = 30, 31


class Planned:
    """A job that gives its trace and waits for a plan."""

    def __init__(self, path, trace, sealed=True, name="planned", mib=1):
        self.talk = talk.Talk(path)
        self.talk.hello()
        menu = struct.pack("<I3Q", 1, mib << 20, mib << 20, 10**6)
        self.talk.send(talk.REGISTER, talk.text(name) + struct.pack(
            "<IiqqqII", 0, 20, 0, 0, 10**6, 0, 0) + menu, 2)
        while self.talk.receive()[0] != talk.ADMITTED:
            pass
        fd = os.memfd_create("trace", os.MFD_ALLOW_SEALING)
        os.write(fd, trace)
        if sealed:
            fcntl.fcntl(fd, ADD_SEALS, SHRINK | GROW | WRITE)
        frame = struct.pack("<IHHIIQ", 8, TRACE, 1, 3, 1, len(trace))
        self.talk.socket.sendmsg([frame], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", fd))])
        os.close(fd)

    def plan(self):
        self.talk.socket.settimeout(60)
        while True:
            data, rights, _, _ = self.talk.socket.recvmsg(16, 256)
            size, number, _, _, _ = struct.unpack("<IHHII", data)
            payload = self.talk.take(size)
            if number == PLAN:
                size, budget = struct.unpack("<QQ", payload)
                fd = struct.unpack("i", rights[0][2])[0]
                return os.pread(fd, size, 0).decode(), budget


def chain(ops):
    """A trace of so many ops, each with a weight and the result of the one before."""
    lines = ["trace 1", "job 0 name=chain iterations=0", "tier disk bytes=1073741824"]
    lines += [f"link {ends} bytes_per_s=1000000000 latency_ns=0 duplex=full"
              for ends in ("device disk", "disk device")]
    for i in range(ops):
        lines.append(f"value v{2 * i} bytes=4096 align=4096 class=param name=w{i}")
        lines.append(f"value v{2 * i + 1} bytes=4096 align=4096 class={'act' if i else 'input'} name=a{i}")
    lines.append("op 0 kind=feed dur_ns=1000 out=v1")
    lines += [f"op {i} kind=matmul dur_ns=1000 in=v{2 * i},v{2 * i - 1} out=v{2 * i + 1}"
              for i in range(1, ops)]
    return ("\n".join(lines) + "\n").encode()
