import torch


class Several(Exception):  # as ExceptionGroup of Python 3.11
    def __init__(self, message, exceptions):
        super().__init__(message)
        self.exceptions = exceptions


try:
    torch.ones(3, device="cuda:1") - torch.ones(3, device="cuda:0")
except RuntimeError as error:
    raise Several("two tasks failed", [ValueError("not this one"), error]) from None
