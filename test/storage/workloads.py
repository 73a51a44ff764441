# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""The tests, in the order in which they run. Each begins and ends without a connection."""

import hashlib
import os
import random
import signal

from rig import Failure, address
from target import DISK_MIB, HOST_NQN, NQN, Skipped
from wire import Fault

DISK = '/dev/nvme0n1'
MOUNT = '/tmp/mnt'
FIO = ('fio --name=%s --rw=randrw --bsrange=4k-1m --ioengine=io_uring --direct=1 --verify=%s '
       '--verify_fatal=1 --thread --output=/tmp/fio.log ')
KILLS = 20
OUTAGE_S = (1, 10, 60)
LOSS = 0.01
SHORT_S = 10            # a keep-alive that the guest can keep on a busy machine
TREE = ('(cd %s && for i in $(seq 24); do mkdir -p d$i && dd if=/dev/urandom of=d$i/f bs=$((i * 7))k count=3 2>/dev/null '
        '|| exit 1; done; find . -type f -exec sha256sum {} + >/tmp/sums)')
EXT4 = '/bin/mke2fs -q -F -t ext4'      # without the path, it is busybox's


def discover(b):
    out = b.sh('nvme discover -t rdma -a %s -s 4420' % address(b.target.number, 4))
    for word in (NQN, 'trtype:  rdma', 'subtype: nvme subsystem', 'traddr:  %s' % address(b.target.number, 4)):
        if word not in out:
            raise Failure('discover prints no "%s": %s' % (word, out))


def admin(b):
    """nvme-cli reads all that the controller tells of itself."""
    b.connect()
    for command, word in (('id-ctrl %s', 'uroce NVMe-oF target'), ('id-ns %s -n 1', 'lbaf  0'), ('ns-descs %s -n 1', 'nguid'),
                          ('list-ns %s', '0x1'), ('smart-log %s', 'available_spare'), ('error-log %s', 'Entries'),
                          ('fw-log %s', 'frs1'), ('effects-log /dev/nvme0', ''), ('get-feature %s -f 6', 'Current value'),
                          ('get-feature %s -f 7', 'Current value'), ('flush %s -n 1', 'success')):
        command = 'nvme ' + command.replace('%s', DISK)
        out = b.sh(command)
        if word.lower() not in out.lower():
            raise Failure('%s prints no "%s": %s' % (command, word, out[:500]))
    b.disconnect()


def queues(b):
    """Bytes that the guest writes are those of the file, and the other way around."""
    for n in (1, 2):
        b.connect(n)
        if b.sh('cat /sys/class/nvme/nvme0/queue_count').strip() != str(n + 1):
            raise Failure('not %d I/O queues' % n)
        b.sh('dd if=/dev/urandom of=/tmp/random bs=1M count=3 2>/dev/null && '
             'dd if=/tmp/random of=%s bs=1M seek=%d oflag=direct conv=fsync 2>/dev/null' % (DISK, n))
        wanted = b.sh('sha256sum </tmp/random').split()[0]
        if hashlib.sha256(b.target.bytes_at(n << 20, 3 << 20)).hexdigest() != wanted:
            raise Failure('the file has other bytes')
        with open(b.target.disk, 'r+b') as f:
            data = os.urandom(2 << 20)
            os.pwrite(f.fileno(), data, 9 << 20)
            os.fsync(f.fileno())
        read = b.sh('dd if=%s bs=1M skip=9 count=2 iflag=direct 2>/dev/null | sha256sum' % DISK).split()[0]
        if read != hashlib.sha256(data).hexdigest():
            raise Failure('the guest reads other bytes')
        b.disconnect()


def file_system(make, check):
    def test(b):
        b.connect(2)
        b.sh('mkdir -p %s; %s %s && mount %s %s' % (MOUNT, make, DISK, DISK, MOUNT))
        b.sh(TREE % MOUNT)
        b.sh('umount %s && %s %s' % (MOUNT, check, DISK))
        b.disconnect()
        b.connect(1)
        b.sh('mount %s %s && (cd %s && sha256sum -c /tmp/sums >/dev/null) && umount %s' % (DISK, MOUNT, MOUNT, MOUNT))
        b.disconnect()
        b.no_io_error()
    return test


def fio_verify(b):
    b.connect(2)
    for check in ('crc32c', 'sha256'):
        b.sh(FIO % ('verify', check) + '--filename=%s --size=48m --iodepth=8 || { cat /tmp/fio.log; false; }' % DISK)
    b.disconnect()


def resize(b):
    b.connect()
    for mib in (DISK_MIB + 64, DISK_MIB):
        os.truncate(b.target.disk, mib << 20)
        b.target.hang_up()
        b.wait_in_guest('%d MiB' % mib, 'test $(cat /sys/block/nvme0n1/size) = %d' % (mib << 11))
    b.disconnect()


def trim(b):
    b.connect()
    b.sh('dd if=/dev/zero bs=1M count=2 2>/dev/null | tr "\\0" x | dd of=%s bs=1M oflag=direct 2>/dev/null' % DISK)
    size = int(b.sh('cat /sys/block/nvme0n1/queue/logical_block_size'))
    b.sh('nvme write-zeroes %s -s %d -c %d' % (DISK, 4096 // size, 65536 // size - 1))
    b.sh('nvme dsm %s -n 1 -d -s %d -b %d' % (DISK, (1 << 20) // size, (1 << 19) // size))
    wanted = [(0, 4096, b'x'), (4096, 65536, b'\0'), (4096 + 65536, 4096, b'x'), (1 << 20, 1 << 19, b'\0'),
              (3 << 19, 4096, b'x')]
    for offset, count, byte in wanted:
        if b.target.bytes_at(offset, count) != byte * count:
            raise Failure('at %d there are not %d bytes of %r' % (offset, count, byte))
    b.sh('blkdiscard %s' % DISK)
    b.disconnect()


def begin_fio(b):
    """Let fio write, fsync and verify files of a new ext4 in the background, again and again until end_fio(). With all its
    commands at the target, the guest notices only by the keep-alive that the target is gone."""
    b.connect(2, keep_alive=SHORT_S)
    b.sh('mkdir -p %s; %s %s && mount %s %s' % (MOUNT, EXT4, DISK, DISK, MOUNT))
    b.sh('(rc=0; while test ! -e /tmp/stop; do %s --directory=%s --size=24m --fsync=16 --iodepth=4 || { rc=1; break; }; '
         'done; echo $rc >/tmp/fio.rc) >/dev/null 2>&1 &' % (FIO % ('files', 'crc32c'), MOUNT))


def fio_writes(b):
    """Wait until fio has written some more."""
    before = writes(b)
    b.wait('fio writes', lambda: fio_ended(b) or writes(b) > before + 64)


def fio_ended(b):
    return b.guest.sh('test -e /tmp/fio.rc')[0] == 0


def end_fio(b):
    b.sh('touch /tmp/stop')
    b.wait('the end of fio', lambda: fio_ended(b), 1200)
    if b.sh('cat /tmp/fio.rc; rm /tmp/fio.rc /tmp/stop').strip() != '0':
        raise Failure('fio: %s' % b.sh('cat /tmp/fio.log')[-800:])
    b.sh('umount %s && e2fsck -fn %s' % (MOUNT, DISK))
    b.no_io_error()
    b.disconnect()


def kill_target(b):
    begin_fio(b)
    for _ in range(KILLS):
        fio_writes(b)
        b.target.restart()
    fio_writes(b)
    end_fio(b)


def writes(b):
    """@return how many writes the disk has got; the multipath device of old kernels does not count, its path does"""
    return sum(int(line.split()[4]) for line in b.sh('cat /sys/block/nvme0*/stat').splitlines())


def kill_guest(b):
    """The target gives up a guest that vanished after the keep-alive, and takes it again when it is back."""
    b.connect(2, keep_alive=SHORT_S)
    b.guest.stop()
    b.wait('the target notices', lambda: 'has sent no keep-alive' in b.target.log())
    b.reboot()
    b.connect(2)
    b.disconnect()


def outages(b):
    begin_fio(b)
    for seconds in OUTAGE_S:
        fio_writes(b)
        b.wire.cut = True
        b.sh('sleep %d' % seconds)
        b.wire.cut = False
        b.wait_live()
    fio_writes(b)
    end_fio(b)


def lose(b, side):
    dice = random.Random(1)
    b.wire.reset([Fault('drop', side, lambda frame: dice.random() < LOSS, until='end')])


LOSS_FIO = FIO % ('loss', 'crc32c') + '--filename=%s --size=8m --iodepth=4' % DISK


def loss(b):
    """Frames to the guest are lost."""
    lose(b, 'uroce')
    b.connect(2)
    b.sh(LOSS_FIO + ' || { cat /tmp/fio.log; false; }')
    b.disconnect()
    b.wire.reset()


def loss_of_guest(b):
    """The guest's own frames are lost. rxe then fails with any peer, also with another rxe: it posts a registration of a
    region before the last one is complete."""
    lose(b, 'rxe')
    b.connect(2)
    b.sh('(%s; echo $? >/tmp/fio.rc) >/dev/null 2>&1 &' % LOSS_FIO)
    b.wait('the end of fio, or a defect of rxe', lambda: fio_ended(b) or rxe_fails(b))
    if rxe_fails(b):
        text = rxe_fails(b)
        b.recover()
        raise Skipped('a defect of this Linux: %s' % text)
    if b.sh('cat /tmp/fio.rc; rm /tmp/fio.rc').strip() != '0':
        raise Failure('fio: %s' % b.sh('cat /tmp/fio.log')[-800:])
    b.disconnect()
    b.wire.reset()


def rxe_fails(b):
    """@return rxe's message, or nothing"""
    return b.guest.sh('dmesg | grep -m1 "rxe_reg_fast_mr.*not free"')[1].strip()


def remove(b):
    """A namespace comes and goes at run time. Programs that use it then get an error, and those that use another go on."""
    b.connect(2)
    second = b.target.disk + '2'
    b.target.create(second)
    nsid = b.target.ask('/uroce/nvmf/add,' + second)['nsid']
    disk = '/dev/nvme0n%d' % nsid
    b.wait_in_guest('the second namespace', 'test -b %s' % disk)
    for device in DISK, disk:
        b.sh('(rc=0; while test ! -e /tmp/stop; do dd if=/dev/zero of=%s bs=64k count=64 oflag=direct 2>/dev/null || '
             '{ rc=1; break; }; done; echo $rc >/tmp/%s.rc) >/dev/null 2>&1 &' % (device, os.path.basename(device)))
    b.wait('both are written to', lambda: b.target.ask('/uroce/nvmf/poller,0')['bytes_written'] > 64 << 20)
    b.target.ask('/uroce/nvmf/remove,%d' % nsid)
    b.wait_in_guest('the end of its writer', 'test -e /tmp/%s.rc' % os.path.basename(disk))
    b.wait_in_guest('the end of the second namespace', 'test ! -e /sys/block/%s' % os.path.basename(disk))
    b.sh('touch /tmp/stop')
    b.wait_in_guest('the end of the other writer', 'test -e /tmp/nvme0n1.rc')
    if b.sh('cd /tmp && cat %s.rc nvme0n1.rc && rm stop *.rc' % os.path.basename(disk)).split() != ['1', '0']:
        raise Failure('the removed namespace can be written to, or the other cannot')
    if not b.is_live():
        raise Failure('the controller has failed')
    b.wait('the file is closed', lambda: second not in b.target.open_files())
    b.disconnect()
    b.sh('dmesg -c >/dev/null')     # it has the I/O errors of the removed namespace
    os.unlink(second)


def auth(b):
    """DH-HMAC-CHAP, one-way and mutual; whoever has a wrong key, or none, is refused."""
    if b.guest.sh('test -e /modules/nvme-auth.ko')[0] != 0:
        raise Skipped('Linux %d.%d of this guest has no nvme-auth: use --kernel trixie' % b.guest.linux)
    host, ctrl, wrong = (b.sh('nvme gen-dhchap-key --hmac=%d --nqn=%s' % (hmac, HOST_NQN)).split()[-1] for hmac in (1, 2, 1))
    b.target.restart_with('--allow-host', HOST_NQN, '--host-key', host, '--ctrl-key', ctrl)
    for what, options in (('no key', ''), ('a wrong key', '--dhchap-secret=%s' % wrong),
                          ('a wrong key of the target', '--dhchap-secret=%s --dhchap-ctrl-secret=%s' % (host, wrong))):
        if b.try_connect(options=options)[0] == 0:
            raise Failure('a host with %s connects' % what)
    refused = b.target.log().count('authentication failed')
    if refused != 2:
        raise Failure('the log has %d failures of authentication, not 2' % refused)
    for options in '--dhchap-secret=%s' % host, '--dhchap-secret=%s --dhchap-ctrl-secret=%s' % (host, ctrl):
        before = b.target.log().count('authenticated by ffdhe')
        b.connect(2, options=options)
        b.sh('dd if=%s of=/dev/null bs=64k count=4 iflag=direct 2>/dev/null' % DISK)
        if b.target.log().count('authenticated by ffdhe') != before + 3:
            raise Failure('not each of the 3 queues has authenticated')
        b.disconnect()
    b.target.restart_with()


def shutdown(b):
    """SIGTERM closes the connections at once; the guest reconnects to the next target."""
    b.connect()
    b.target.process.send_signal(signal.SIGTERM)
    if b.target.process.wait(60) != 0:
        raise Failure('the target ends with %d' % b.target.process.returncode)
    b.wait('the guest notices', lambda: not b.is_live())
    b.target.start()
    b.target.wait_ready()
    b.wait_live()
    b.sh('dd if=%s of=/dev/null bs=64k count=4 iflag=direct 2>/dev/null' % DISK)
    b.no_io_error()
    b.disconnect()


TESTS = {
    'discover': discover,
    'admin': admin,
    'queues': queues,
    'ext4': file_system(EXT4, 'e2fsck -fn'),
    'xfs': file_system('mkfs.xfs -q -f', 'xfs_repair -n'),
    'fio_verify': fio_verify,
    'resize': resize,
    'trim': trim,
    'remove': remove,
    'auth': auth,
    'shutdown': shutdown,
    'kill_target': kill_target,
    'outages': outages,
    'loss': loss,
    'loss_of_guest': loss_of_guest,
    'kill_guest': kill_guest,
}
