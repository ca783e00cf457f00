"""``devsan doctor``: environment, versions, configuration and source, checked before a job starts; and
``devsan.doctor(model, optimizer)``, which checks live models where they stand (devsan/doctor/live).

Nothing outside of ``live`` imports torch or the core: the doctor has to work where they do not
(docs/decisions/0008-doctor-in-python.md).

NOTE [A module that is called] ``devsan.doctor`` is this package, for Python sets a submodule as an attribute of its
package whatever is there; so that it can be called as well, its class is one with ``__call__``, as the data model has
it under "Customizing module attribute access".
"""

import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from devsan.doctor.live.diagnosis import Diagnosis


class _Doctor(ModuleType):
    def __call__(self, *subjects: object) -> "Diagnosis":
        """Checks live models and optimizers: hooks and whose they are, what they and placement do not cover, tied
        weights, uninitialized meta tensors, optimizers, quantized layers, two owners. Changes nothing, runs nothing of
        them.

        ``print(devsan.doctor(model, optimizer))`` shows what was found, and who places the model by which line.

        Args:
            *subjects: models and optimizers that belong together; also what holds them: an engine, a Trainer, a
                pipeline, a list. None is left out.

        Returns:
            A list of ``devsan.doctor.findings.Diagnostic``, the worst first; empty where nothing is wrong.

        Raises:
            TypeError: nothing that was given is or holds a model or an optimizer.
        """
        from devsan.doctor.live.check import doctor

        return doctor(*subjects, caller=sys._getframe(1))


sys.modules[__name__].__class__ = _Doctor
