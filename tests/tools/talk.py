#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speaks the daemon's protocol by docs/formats/protocol.md, without any code of ours.

talk.py SOCKET job NAME P_MIB E_MIB   a job that maps nothing and never ends its turn; prints what it hears
talk.py SOCKET raw HEX                sends bytes, prints what comes until an error, or the end
"""
import socket
import struct
import sys

HELLO, WELCOME, ERROR, DONE, REGISTER, REGISTERED, ADMITTED, READY, LOST, STOP, END = \
    1, 2, 3, 4, 10, 11, 12, 13, 21, 22, 23
NAMES = {WELCOME: "welcome", ERROR: "error", DONE: "done", REGISTERED: "registered",
         ADMITTED: "admitted", LOST: "lost", STOP: "stop"}


def text(word):
    raw = word.encode("utf-8", "surrogateescape")
    return struct.pack("<H", len(raw)) + raw


class Talk:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)

    def send(self, number, payload, seq):
        self.socket.sendall(struct.pack("<IHHII", len(payload), number, 1, seq, 0) + payload)

    def take(self, n):
        data = b""
        while len(data) < n:
            # Descriptors that come are closed again.
            part, rights, _, _ = self.socket.recvmsg(n - len(data), 256)
            for _, _, raw in rights:
                for (fd,) in struct.iter_unpack("<i", raw):
                    socket.close(fd)
            if not part:
                raise EOFError
            data += part
        return data

    def receive(self):
        size, number, _, seq, _ = struct.unpack("<IHHII", self.take(16))
        return number, seq, self.take(size)

    def hello(self):
        self.send(HELLO, struct.pack("<QI", 0x31454349554C53, 1) + text("talk"), 1)
        return self.receive()[0] == WELCOME


def say(*words):
    print(*words, flush=True)


def job(talk, name, p_mib, e_mib):
    assert talk.hello()
    menu = struct.pack("<I3Q", 1, int(p_mib) << 20, int(e_mib) << 20, 10**8)
    talk.send(REGISTER, text(name) + struct.pack("<IiqqqII", 0, 0, 0, 0, 10**8, 0, 0) + menu, 2)
    while True:
        number, _, payload = talk.receive()
        say(NAMES.get(number, number), *([struct.unpack("<I", payload[:4])[0]]
                                         if number == REGISTERED else []))
        if number == ERROR:
            say(payload[6:].decode())
        if number == ADMITTED:
            talk.send(READY, struct.pack("<I", 0), 0)
        if number == STOP:
            talk.send(END, struct.pack("<QQI", 3, 10**9, 0), 3)
        if number in (ERROR, LOST, DONE):
            return


def raw(talk, data):
    talk.socket.sendall(bytes.fromhex(data))
    while True:
        number, seq, payload = talk.receive()
        say(NAMES.get(number, number), seq, payload[6:].decode(errors="replace"))
        if number == ERROR:
            return


if __name__ == "__main__":
    talker = Talk(sys.argv[1])
    try:
        {"job": job, "raw": raw}[sys.argv[2]](talker, *sys.argv[3:])
    except (EOFError, ConnectionError):
        say("end")
