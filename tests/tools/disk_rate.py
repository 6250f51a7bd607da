# SPDX-License-Identifier: Apache-2.0
"""What the disk of SLUICE_DISK does, past the page cache."""
import mmap
import os
import threading
import time


def both_ways():
    """Bytes a second, reads and writes together, past the page cache."""
    piece, pieces, folder = 4 << 20, 96, os.environ.get("SLUICE_DISK", "/var/tmp")
    buffers = [mmap.mmap(-1, piece) for _ in range(2)]
    buffers[0].write(os.urandom(piece))
    paths = [os.path.join(folder, "sluice-real-%d-%d" % (os.getpid(), i)) for i in range(2)]
    files = [os.open(p, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600) for p in paths]
    for p in paths:
        os.unlink(p)

    def write(file):
        for i in range(pieces):
            os.pwrite(file, buffers[0], i * piece)

    def read(file):
        for i in range(pieces):
            os.preadv(file, [buffers[1]], i * piece)

    write(files[1])
    threads = [threading.Thread(target=write, args=(files[0],)), threading.Thread(target=read, args=(files[1],))]
    begin = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return 2 * pieces * piece / (time.monotonic() - begin)
