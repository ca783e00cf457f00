# expect: DV103 | gpus: 1 | operands: scores, allowed | owner: program
"""A grammar that is no module builds its table on the CPU, fills it in place, and hands rows to who masks scores."""

import torch


class Grammar:
    def __init__(self, rules, words):
        self.table = torch.zeros(len(rules), words, dtype=torch.bool)
        for row, following in enumerate(rules):
            self.table[row, following] = True

    def rows_for(self, states):
        return self.table[[state % len(self.table) for state in states]]


class Constraint:
    def __init__(self, grammar):
        self.grammar = grammar

    def __call__(self, states, scores):
        allowed = self.grammar.rows_for(states)
        return torch.where(allowed, scores, float("-inf"))


constraint = Constraint(Grammar([[0, 2], [1, 3], [4]], 5))
print(constraint([0, 1], torch.randn(2, 5, device="cuda")).argmax(-1))
