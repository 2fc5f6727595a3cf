"""Power fails between any two operations on the disk: no released charge is ever forgotten.

A kill leaves the kernel's cache behind; a power cut does not. So a small C library, loaded before
SQLite, writes down every operation on the ledger's folder. From that log we rebuild what a disk
may hold if power fails after each operation: only what was synced; everything; names without
contents; contents without names; and random halves of what was not synced. The same library kills
the process at, and fails, every sync.
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Ledger

BUDGET = Budget(epsilon=100)

RECORDER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int log_fd = -1, syncs, kill_at, fail_at;
static char watched[PATH_MAX];

void recorder_start(const char *folder, const char *log) {
    strcpy(watched, folder);
    log_fd = syscall(SYS_openat, AT_FDCWD, log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
}
void recorder_trip(int kill_, int fail) { syncs = 0; kill_at = kill_; fail_at = fail; }
int recorder_syncs(void) { return syncs; }

static int within(const char *path) { return log_fd >= 0 && !strncmp(path, watched, strlen(watched)); }

static void note(const char *op, const char *path, const char *other, long inode, long at,
                 const void *data, long size) {
    char line[3 * PATH_MAX];
    int n = snprintf(line, sizeof line, "%s\t%s\t%s\t%ld\t%ld\t%ld\n", op, path, other, inode, at,
                     size);
    syscall(SYS_write, log_fd, line, n);
    if (data) syscall(SYS_write, log_fd, data, size);
}
static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = readlink(link, path, PATH_MAX - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return within(path);
}
static long inode_of(int fd) { struct stat s; return fstat(fd, &s) ? 0 : (long)s.st_ino; }
static long inode_at(const char *path) { struct stat s; return stat(path, &s) ? 0 : (long)s.st_ino; }

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)

static int opened(int fd, const char *path, int before) {
    if (fd >= 0 && !before && within(path)) note("create", path, "", inode_of(fd), 0, 0, 0);
    return fd;
}
#define OPEN(name)                                                                      \
    int name(const char *path, int flags, ...) {                                        \
        REAL(name);                                                                     \
        va_list args; va_start(args, flags);                                            \
        int mode = flags & O_CREAT ? va_arg(args, int) : 0; va_end(args);               \
        int before = !(flags & O_CREAT) || inode_at(path) != 0;                         \
        return opened(real(path, flags, mode), path, before);                           \
    }
OPEN(open)
OPEN(open64)

#define PWRITE(name)                                                                    \
    ssize_t name(int fd, const void *data, size_t size, long at) {                      \
        REAL(name);                                                                     \
        char path[PATH_MAX];                                                            \
        ssize_t n = real(fd, data, size, at);                                           \
        if (n > 0 && path_of(fd, path)) note("write", path, "", inode_of(fd), at, data, n); \
        return n;                                                                       \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

ssize_t write(int fd, const void *data, size_t size) {
    char path[PATH_MAX];
    ssize_t n = syscall(SYS_write, fd, data, size);
    if (n > 0 && log_fd >= 0 && path_of(fd, path)) {
        long at = lseek(fd, 0, SEEK_CUR) - n;
        note("write", path, "", inode_of(fd), at, data, n);
    }
    return n;
}
#define TRUNCATE(name)                                                                  \
    int name(int fd, long size) {                                                       \
        REAL(name);                                                                     \
        char path[PATH_MAX];                                                            \
        int r = real(fd, size);                                                         \
        if (!r && path_of(fd, path)) note("truncate", path, "", inode_of(fd), size, 0, 0); \
        return r;                                                                       \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define SYNC(name)                                                                      \
    int name(int fd) {                                                                  \
        REAL(name);                                                                     \
        char path[PATH_MAX];                                                            \
        if (!path_of(fd, path)) return real(fd);                                        \
        syncs++;                                                                        \
        if (kill_at == 2 * syncs - 1) raise(SIGKILL);                                   \
        if (fail_at == syncs) { errno = EIO; return -1; }                               \
        int r = real(fd);                                                               \
        note("sync", path, "", inode_of(fd), 0, 0, 0);                                  \
        if (kill_at == 2 * syncs) raise(SIGKILL);                                       \
        return r;                                                                       \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
    REAL(unlink);
    long inode = inode_at(path);
    int r = real(path);
    if (!r && within(path)) note("unlink", path, "", inode, 0, 0, 0);
    return r;
}
int link(const char *from, const char *to) {
    REAL(link);
    int r = real(from, to);
    if (!r && within(to)) note("link", from, to, inode_at(to), 0, 0, 0);
    return r;
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
    REAL(linkat);
    int r = real(a, from, b, to, flags);
    if (!r && within(to)) note("link", from, to, inode_at(to), 0, 0, 0);
    return r;
}
int rename(const char *from, const char *to) {
    REAL(rename);
    int r = real(from, to);
    if (!r && within(to)) note("rename", from, to, inode_at(to), 0, 0, 0);
    return r;
}
"""

QUERIES = """
import ctypes, os, sys
from fractions import Fraction
from dpframe.budget import schema
from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.errors import LedgerError

recorder = ctypes.CDLL(os.environ["LD_PRELOAD"])
path, acknowledged = sys.argv[1], os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY | os.O_APPEND)

def queries(path, acknowledge, times=3):
    answers = 0
    with Ledger.open(path, Budget(epsilon=100)) as ledger:
        for n in range(times):
            charge = ledger.charge(Loss.pure("0.1"), asked="q", mechanism="laplace")
            answers += 1
            acknowledge()
            charge.store({"key": bytes(5000 * n)})
    return answers
"""

RECORD = (
    QUERIES
    + """
if len(sys.argv) > 4:  # a deliberately weaker setting, to see that the test would notice
    strong = schema.connect
    def weak(*arguments):
        connection = strong(*arguments)
        connection.execute(f"PRAGMA synchronous = {sys.argv[4]}")
        return connection
    schema.connect = weak
    import dpframe.budget.storage
    dpframe.budget.storage.connect = weak
recorder.recorder_start(os.path.dirname(path).encode(), sys.argv[3].encode())
queries(path, lambda: os.write(acknowledged, b"1"))
"""
)

TRIP = (
    QUERIES
    + """
recorder.recorder_start(os.path.dirname(path).encode(), b"/dev/null")
queries(path, lambda: None, times=1)
recorder.recorder_trip(0, 0)
queries(path, lambda: None, times=1)
most = recorder.recorder_syncs()
print(most, flush=True)
for trip in range(1, 2 * most + 1):
    if (child := os.fork()) == 0:
        recorder.recorder_trip(trip, 0)
        queries(path, lambda: os.write(acknowledged, b"1"), times=1)
        os._exit(0)
    print("kill", os.waitpid(child, 0)[1] & 0x7F, flush=True)
for trip in range(1, most + 1):
    if (child := os.fork()) == 0:
        recorder.recorder_trip(0, trip)
        try:
            queries(path, lambda: os.write(acknowledged, b"1"), times=1)
        except LedgerError as error:
            os._exit(7)
        os._exit(0)
    print("fail", os.waitpid(child, 0)[1] >> 8, flush=True)
"""
)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not sys.platform.startswith("linux") or compiler is None:
        pytest.skip("needs Linux and a C compiler")
    folder = tmp_path_factory.mktemp("recorder")
    source, library = folder / "recorder.c", folder / "recorder.so"
    source.write_text(RECORDER)
    subprocess.run(
        [
            compiler,
            "-shared",
            "-fPIC",
            "-w",
            "-O1",
            "-U_FORTIFY_SOURCE",
            "-o",
            library,
            source,
            "-ldl",
        ],
        check=True,
    )
    return library


def run(recorder, script, *arguments) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "LD_PRELOAD": str(recorder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@dataclass
class Disk:
    """What is on the platter, and what only the kernel knows of."""

    contents: dict[int, bytes] = field(default_factory=dict)
    synced: dict[int, bytes] = field(default_factory=dict)
    pending: dict[int, list[tuple[int, bytes | None]]] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    synced_names: dict[str, int] = field(default_factory=dict)
    files: int = 0
    numbers: dict[int, int] = field(default_factory=dict)

    def apply(self, op, path, other, inode, at, data) -> None:
        if op == "create":  # numbers of deleted files are used again: count files ourselves
            self.files += 1
            self.numbers[inode] = self.files
            self.names[path] = self.files
            self.contents[self.files], self.synced[self.files] = b"", b""
            self.pending[self.files] = []
            return
        file = self.numbers.get(inode, 0)
        if op == "write" and file:
            self.contents[file] = _written(self.contents[file], at, data)
            self.pending[file].append((at, data))
        elif op == "truncate" and file:
            self.contents[file] = self.contents[file][:at].ljust(at, b"\0")
            self.pending[file].append((at, None))
        elif op == "sync" and file:
            self.synced[file], self.pending[file] = self.contents[file], []
        elif op == "sync":  # the folder
            self.synced_names = dict(self.names)
        elif op == "unlink":
            del self.names[path]
        elif op in ("link", "rename"):
            self.names[other] = self.names[path]
            if op == "rename":
                del self.names[path]

    def after_a_power_cut(self, chance: random.Random) -> Iterator[tuple[str, dict[str, bytes]]]:
        """Give what may be found: names with contents."""
        halves = {}
        for file, base in self.synced.items():
            for at, data in self.pending[file]:
                if chance.random() < 0.5:
                    base = base[:at].ljust(at, b"\0") if data is None else _written(base, at, data)
            halves[file] = base
        names = self.names if chance.random() < 0.5 else self.synced_names
        for kind, found, contents in (
            ("only what was synced", self.synced_names, self.synced),
            ("everything", self.names, self.contents),
            ("names without contents", self.names, self.synced),
            ("contents without names", self.synced_names, self.contents),
            ("random halves", names, halves),
        ):
            yield kind, {name: contents[file] for name, file in found.items()}


def _written(content: bytes, at: int, data: bytes) -> bytes:
    content = content.ljust(at, b"\0")
    return content[:at] + data + content[at + len(data) :]


def operations(log: Path) -> Iterator[tuple]:
    raw, place = log.read_bytes(), 0
    while place < len(raw):
        end = raw.index(b"\n", place)
        op, path, other, inode, at, size = raw[place:end].decode().split("\t")
        place = end + 1
        data = raw[place : place + int(size)]
        place += int(size)
        yield op, path, other, int(inode), int(at), data


def power_cuts(recorder, tmp_path, *weaker) -> tuple[int, list[str]]:
    """Run queries once, then cut the power after each operation; list what went wrong."""
    folder, log = tmp_path / "disk", tmp_path / "log"
    folder.mkdir()
    path, acknowledged = folder / "visits.ledger", folder / "acknowledged"
    run(recorder, RECORD, path, acknowledged, log, *weaker)
    disk, chance, wrong, states, released = Disk(), random.Random(3), [], 0, 0
    seen = set()
    for step, operation in enumerate(operations(log)):
        if operation[1] == str(acknowledged):
            released += operation[0] == "write"
        else:
            disk.apply(*operation)
        for kind, found in disk.after_a_power_cut(chance):
            state = (released, tuple(sorted(found.items())))
            if state in seen:
                continue
            seen.add(state)
            states += 1
            where = tmp_path / "found"
            shutil.rmtree(where, ignore_errors=True)
            where.mkdir()
            for name, content in found.items():
                (where / Path(name).name).write_bytes(content)
            if problem := look(where / path.name, released):
                wrong.append(f"step {step} ({operation[0]}), {kind}: {problem}")
    assert released == 3
    return states, wrong


def look(path: Path, released: int) -> str | None:
    if not path.exists():
        return "there is no ledger" if released else None
    try:
        with Ledger.open(path, BUDGET) as ledger:
            charges = ledger.verify().charges
    except Exception as error:
        return str(error)
    return f"{charges} charges, but {released} were released" if charges < released else None


def test_no_power_cut_forgets_a_released_charge(recorder, tmp_path):
    states, wrong = power_cuts(recorder, tmp_path)
    assert not wrong, "\n".join(wrong)
    assert states > 60, "the recorder saw too little: is SQLite linked statically?"


@pytest.mark.parametrize("weaker", ["OFF", "FULL"])
def test_the_power_cuts_would_find_a_weaker_setting(recorder, tmp_path, weaker):
    """FULL does not sync the folder after the journal is deleted: only EXTRA is enough."""
    _, wrong = power_cuts(recorder, tmp_path, weaker)
    assert wrong


def test_killed_or_failing_at_every_sync_a_ledger_shows_what_was_released(recorder, tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    path, acknowledged = folder / "visits.ledger", tmp_path / "acknowledged"
    lines = run(recorder, TRIP, path, acknowledged).splitlines()
    syncs = int(lines[0])
    assert syncs >= 6  # two transactions, each with its journal, its pages and its folder
    trips = [line.split() for line in lines[1:]]
    assert [int(said) for kind, said in trips if kind == "kill"] == 2 * syncs * [9]
    answered = [int(said) for kind, said in trips if kind == "fail"]
    assert set(answered) <= {0, 7}
    assert 7 in answered
    with Ledger.open(path, BUDGET) as ledger:
        assert ledger.verify().charges >= 2 + acknowledged.stat().st_size
