#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""Shrinks a failing seed of the simulation: leaves out actions of the workload, harm by the link, reconnections,
scenarios, connections and features of the world, as long as the seed fails in the same way. At the end prints the
command that replays the shrunk run, and its trace of frames."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

LISTS = ('actions', 'harm', 'reconnects', 'scenarios')
FAILED = re.compile(r'^seed (\d+), at [\d.]+ us, after (\d+) requests: (.*)$', re.M)
DID = re.compile(r'^did: (\S+) (.*)$', re.M)
NUMBERS = re.compile(r'0x[0-9a-f]+|\d+')


def parse_list(text):
    """'1-3,8' -> [1, 2, 3, 8]"""
    numbers = []
    for part in text.split(',') if text != 'none' else []:
        first, _, last = part.partition('-')
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def format_list(numbers):
    """[1, 2, 3, 8] -> '1-3,8'"""
    ranges = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ','.join(f'{a}' if a == b else f'{a}-{b}' for a, b in ranges) or 'none'


class Outcome:
    """The result of a run."""
    def __init__(self, status, output):
        found = FAILED.search(output)
        self.message = found.group(3) if found else f'exit status {status}: {output[-200:].strip()}' if status else ''
        self.seed = int(found.group(1)) if found else None
        self.requests = int(found.group(2)) if found else None
        # messages of one kind differ in their numbers only
        self.kind = NUMBERS.sub('#', self.message)
        self.did = dict(DID.findall(output))
        self.output = output

    @property
    def frames(self):
        return int(self.did.get('frames', 0))

    def listed(self, name):
        return parse_list(self.did.get(name, 'none'))


class Simulation:
    def __init__(self, command, timeout=120):
        self.command = [str(word) for word in command]
        self.timeout = timeout
        self.runs = 0

    def words(self, seed, options):
        words = self.command + ['--seed', str(seed)]
        for name, value in options.items():
            if value is not None and value != []:
                words += [f'--{name}', format_list(value) if name in LISTS else
                          ','.join(value) if name == 'no' else str(value)]
            elif value == [] and name in LISTS:
                words += [f'--{name}', 'none']
        return words

    def run(self, seed, options, *more):
        self.runs += 1
        try:
            done = subprocess.run(self.words(seed, options) + list(more), timeout=self.timeout,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
        except subprocess.TimeoutExpired:
            return Outcome(1, f'seed {seed}, at 0 us, after 0 requests: no end after {self.timeout} s')
        return Outcome(done.returncode, done.stdout)


class Shrinker:
    def __init__(self, simulation, seed, steps, deadline=float('inf'), most_runs=float('inf')):
        self.simulation = simulation
        self.seed = seed
        self.deadline = deadline
        self.most_runs = most_runs
        self.options = {'steps': steps}
        self.first = self.best = simulation.run(seed, self.options, '--account')
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())

    @property
    def in_time(self):
        return time.monotonic() < self.deadline and self.simulation.runs < self.most_runs

    def take_first(self, candidates):
        """@return the first of these options with which the run fails in the same way, or None"""
        width = os.cpu_count()
        for start in range(0, len(candidates), width):
            if not self.in_time:
                return None
            batch = candidates[start:start + width]
            outcomes = self.pool.map(lambda options: self.simulation.run(self.seed, options, '--account'), batch)
            for i, (options, outcome) in enumerate(zip(batch, outcomes)):
                if outcome.kind == self.first.kind:
                    self.options, self.best = options, outcome
                    return start + i
        return None

    def without(self, name, numbers):
        return self.options | {name: numbers}

    def shrink_list(self, name):
        """delta debugging: leave out ever smaller pieces"""
        pieces = 1
        while self.in_time:
            # keep only the parts that the run has done
            numbers = self.best.listed(name)
            if not numbers:
                self.options = self.without(name, [])
                return
            pieces = min(pieces, len(numbers))
            cuts = [len(numbers) * i // pieces for i in range(pieces + 1)]
            found = self.take_first([self.without(name, numbers[:a] + numbers[b:])
                                     for a, b in zip(cuts, cuts[1:])])
            if found is None and pieces == len(numbers):
                self.options = self.without(name, numbers)
                return
            pieces = pieces * 2 if found is None else max(pieces - 1, 1)

    def shrink_conns(self):
        """find the smallest number with which the run fails"""
        for conns in range(1, int(self.best.did.get('conns', 1))):
            if self.take_first([self.options | {'conns': conns}]) is not None:
                return

    def shrink_features(self):
        features = self.best.did.get('features', 'none')
        for feature in features.split(',') if features != 'none' else []:
            self.take_first([self.options | {'no': self.options.get('no', []) + [feature]}])

    def shrink(self):
        """@return whether there was something to shrink"""
        if not self.first.message or 'frames' not in self.first.did:
            return False
        size = None
        while self.in_time and size != (size := self.size()):
            for name in ('scenarios', 'reconnects'):
                self.shrink_list(name)
            self.shrink_features()
            self.shrink_conns()
            self.shrink_list('actions')
            self.shrink_list('harm')
        return True

    def size(self):
        return self.best.frames, *(len(self.best.listed(name)) for name in LISTS), self.best.did.get('features')

    def command_line(self):
        return shlex.join(self.simulation.words(self.seed, self.options))

    def report(self):
        def what(outcome):
            return ', '.join([f'{outcome.frames} frames'] + [f'{len(outcome.listed(name))} {name}' for name in LISTS]
                             + [f"{outcome.did.get('conns')} connections"])

        return (f'seed {self.seed}: {self.best.message}\n'
                f'found:  {what(self.first)}\n'
                f'shrunk: {what(self.best)}, after {self.simulation.runs} runs\n'
                f'replay: {self.command_line()}\n')

    def trace(self):
        return self.simulation.run(self.seed, self.options, '-v').output


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=300, help='then what has been reached is good enough')
    parser.add_argument('--steps', type=int, default=200, help='of the run that has failed')
    parser.add_argument('--trace', type=pathlib.Path, help='where the trace goes; by default it is printed')
    parser.add_argument('sim', type=pathlib.Path)
    parser.add_argument('seed', type=int)
    args = parser.parse_args()

    shrinker = Shrinker(Simulation([args.sim]), args.seed, args.steps, time.monotonic() + args.seconds)
    if not shrinker.first.message:
        print(f'seed {args.seed} is well')
        return 1
    shrinker.shrink()
    trace = shrinker.trace()
    if args.trace is None:
        print(trace, end='')
    else:
        args.trace.write_text(trace)
    print(shrinker.report(), end='')
    return 0


if __name__ == '__main__':
    sys.exit(main())
