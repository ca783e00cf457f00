"""The core's records as run files and the documents of ranks hold them, and back: plain dictionaries.

Written by tools/generate_border.py from core/model/*.h and tools/border/shapes.py.
"""

from __future__ import annotations

from devsan import core
from devsan.introspect.provenance.shown import sentence_of
from devsan.run_files.places import Plain, frame_from, frame_of, frames_of, word


def owner_of(owner: core.Owner) -> Plain:
    """Returns what documents hold of an owner."""
    return {
        "name": owner.name,
        "mechanism": owner.mechanism,
        "setting": owner.setting,
        "where": frame_of(owner.where),
    }


def owner_from(plain: Plain) -> core.Owner:
    """Returns an owner as a document holds it."""
    return core.Owner(
        name=plain["name"],
        mechanism=plain["mechanism"],
        setting=plain["setting"],
        where=frame_from(plain["where"]),
    )


def event_of(event: core.Event) -> Plain:
    """Returns what documents hold of an event."""
    return {
        "kind": word(event.kind),
        "device": str(event.device),
        "from": str(event.from_device),
        "op": event.op,
        "bytes": event.bytes,
        "owner": owner_of(event.owner),
        "frames": frames_of(event.stack),
        "source": word(event.source),
        "device_text": event.device_text,
        "device_value": event.device_value,
        "device_value_at": event.device_value_at,
        "followed": event.followed,
        "subject": event.subject,
        "discarded": event.discarded,
        "amended": event.amended,
        "site": frame_of(event.site),
        "sentence": sentence_of(event),
    }


def event_from(plain: Plain) -> core.Event:
    """Returns an event as a document holds it."""
    return core.Event(
        kind=core.EventKind.__members__[plain["kind"].upper()],
        device=plain["device"],
        from_device=plain["from"],
        op=plain["op"],
        bytes=plain["bytes"],
        owner=owner_from(plain["owner"]),
        stack=[frame_from(each) for each in plain["frames"]],
        source=core.DeviceSource.__members__[plain["source"].upper()],
        device_text=plain["device_text"],
        device_value=plain["device_value"],
        device_value_at=plain["device_value_at"],
        followed=plain["followed"],
        subject=plain["subject"],
        discarded=plain["discarded"],
        amended=plain["amended"],
    )


def operand_of(operand: core.Operand) -> Plain:
    """Returns what documents hold of an operand."""
    return {
        "role": operand.role,
        "name": operand.name,
        "qualified_name": operand.qualified_name,
        "output_of": operand.output_of,
        "kind": word(operand.kind),
        "device": str(operand.device),
        "dtype": operand.dtype,
        "shape": None if operand.shape is None else list(operand.shape),
        "bytes": operand.bytes,
        "offending": operand.offending,
        "line": operand.span.line,
        "column": operand.span.column,
        "end_line": operand.span.end_line,
        "end_column": operand.span.end_column,
        "provenance": [event_of(each) for each in operand.provenance],
        "copies": [event_of(each) for each in operand.copies],
        "holder": operand.holder,
        "tied_to": operand.tied_to,
        "replaced_at": frame_of(operand.replaced_at),
        "left_in": operand.left_in,
        "moved_part": operand.moved_part,
        "requires_grad": operand.requires_grad,
    }


def failure_of(failure: core.Failure) -> Plain:
    """Returns what documents hold of a failure."""
    return {
        "op": failure.op,
        "sentence": failure.sentence,
        "kind": word(failure.kind),
        "operands": [operand_of(each) for each in failure.operands],
        "stack": frames_of(failure.frames),
        "phase": word(failure.phase),
        "memory": None if failure.memory is None else held_memory_of(failure.memory),
    }


def memory_holder_of(memory_holder: core.MemoryHolder) -> Plain:
    """Returns what documents hold of a memory holder."""
    return {
        "name": memory_holder.name,
        "op": memory_holder.op,
        "where": memory_holder.where,
        "bytes": memory_holder.bytes,
        "tensors": memory_holder.tensors,
    }


def memory_part_of(memory_part: core.MemoryPart) -> Plain:
    """Returns what documents hold of a memory part."""
    return {
        "kind": word(memory_part.kind),
        "bytes": memory_part.bytes,
        "tensors": memory_part.tensors,
        "largest": [memory_holder_of(each) for each in memory_part.largest],
    }


def gpu_room_of(gpu_room: core.GpuRoom) -> Plain:
    """Returns what documents hold of a gpu room."""
    return {
        "device": str(gpu_room.device),
        "total": gpu_room.total,
        "free": gpu_room.free,
    }


def held_memory_of(held_memory: core.HeldMemory) -> Plain:
    """Returns what documents hold of a held memory."""
    return {
        "device": str(held_memory.device),
        "requested": held_memory.requested,
        "tried": held_memory.tried,
        "total": held_memory.total,
        "free": held_memory.free,
        "process": held_memory.process,
        "others": held_memory.others,
        "allowed": held_memory.allowed,
        "allocated": held_memory.allocated,
        "reserved": held_memory.reserved,
        "expandable_segments": held_memory.expandable_segments,
        "checkpoints": held_memory.checkpoints,
        "parts": [memory_part_of(each) for each in held_memory.parts],
        "elsewhere": [gpu_room_of(each) for each in held_memory.elsewhere],
    }


def peak_memory_of(peak_memory: core.PeakMemory) -> Plain:
    """Returns what documents hold of a peak memory."""
    return {
        "device": str(peak_memory.device),
        "allocated": peak_memory.allocated,
        "reserved": peak_memory.reserved,
        "op": peak_memory.op,
        "parts": [memory_part_of(each) for each in peak_memory.parts],
        "stack": frames_of(peak_memory.stack),
    }


def module_tensor_of(module_tensor: core.ModuleTensor) -> Plain:
    """Returns what documents hold of a module tensor."""
    return {
        "name": module_tensor.name,
        "is_buffer": module_tensor.is_buffer,
        "device": str(module_tensor.device),
        "dtype": module_tensor.dtype,
        "bytes": module_tensor.bytes,
    }


def hook_of(hook: core.Hook) -> Plain:
    """Returns what documents hold of a hook."""
    return {
        "type": hook.type,
        "execution_device": str(hook.execution_device),
        "offload": hook.offload,
        "owner": hook.owner.name,
    }


def module_of(module: core.Module) -> Plain:
    """Returns what documents hold of a module."""
    return {
        "path": module.path,
        "type": module.type,
        "package": module.package,
        "tensors": [module_tensor_of(each) for each in module.tensors],
        "hooks": [hook_of(each) for each in module.hooks],
    }


def map_entry_of(map_entry: core.MapEntry) -> Plain:
    """Returns what documents hold of a map entry."""
    return {
        "key": map_entry.key,
        "device": str(map_entry.device),
    }


def map_entry_from(plain: Plain) -> core.MapEntry:
    """Returns a map entry as a document holds it."""
    return core.MapEntry(
        key=plain["key"],
        device=plain["device"],
    )


def model_of(model: core.Model) -> Plain:
    """Returns what documents hold of a model."""
    return {
        "expression": model.expression,
        "type": model.type,
        "device_map": [map_entry_of(each) for each in model.device_map],
        "device_map_text": model.device_map_text,
        "wrappers": list(model.wrappers),
        "quantization": model.quantization,
        "modules": [module_of(each) for each in model.modules],
        "placements": [event_of(each) for each in model.placements],
    }


def finding_of(finding: core.Finding) -> Plain:
    """Returns what documents hold of a finding."""
    return {
        "name": finding.name,
        "title": finding.title,
        "involved": list(finding.operands),
        "id": finding.id,
        "cause": finding.cause,
    }


def rank_tensor_from(plain: Plain) -> core.RankTensor:
    """Returns a rank tensor as a document holds it."""
    return core.RankTensor(
        name=plain["name"],
        is_buffer=plain["is_buffer"],
        requires_grad=plain["requires_grad"],
        device=plain["device"],
        dtype=plain["dtype"],
        shape=plain["shape"],
    )


def rank_model_from(plain: Plain) -> core.RankModel:
    """Returns a rank model as a document holds it."""
    return core.RankModel(
        expression=plain["expression"],
        type=plain["type"],
        wrappers=plain["wrappers"],
        tensors=[rank_tensor_from(each) for each in plain["tensors"]],
        count=plain["count"],
        digest=plain["digest"],
        device_map=[map_entry_from(each) for each in plain["device_map"]],
        device_map_text=plain["device_map_text"],
        mapped_at=frame_from(plain["mapped_at"]),
        hook_devices=plain["hook_devices"],
    )


def rank_memory_from(plain: Plain) -> core.RankMemory:
    """Returns a rank memory as a document holds it."""
    return core.RankMemory(
        device=plain["device"],
        bytes=plain["bytes"],
        peak=plain["peak"],
        placed=[event_from(each) for each in plain["placed"]],
    )


def collective_from(plain: Plain) -> core.Collective:
    """Returns a collective as a document holds it."""
    return core.Collective(
        group=plain["group"],
        members=plain["members"],
        sequence=plain["sequence"],
        name=plain["name"],
        shapes=plain["shapes"],
        bytes=plain["bytes"],
        dtype=plain["dtype"],
        device=plain["device"],
        since=plain["since"],
        finished=plain["finished"],
        where=frame_from(plain["where"]),
        through=plain.get("through", ""),
        condition=plain["condition"],
        condition_at=plain.get("condition_at", ""),
    )
