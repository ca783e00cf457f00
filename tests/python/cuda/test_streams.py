"""Streams and events: torch's own classes on emulated bases."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.usefixtures("four_gpus")


def test_a_stream_is_a_stream_of_torch() -> None:
    stream = torch.cuda.Stream(device="cuda:1", priority=-1)
    assert isinstance(stream, torch.Stream) and isinstance(stream, torch.cuda.streams.Stream)
    assert stream.device == torch.device("cuda:1")
    assert stream.priority == -1
    assert torch.cuda.Stream.priority_range() == (0, -3)
    assert repr(stream) == f"<torch.cuda.Stream device=cuda:1 cuda_stream={stream.cuda_stream:#x}>"


def test_streams_are_told_apart() -> None:
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    assert first != second and first.cuda_stream != second.cuda_stream
    assert first == torch.cuda.Stream(
        stream_id=first.stream_id, device_index=first.device_index, device_type=first.device_type
    )
    assert len({first, second, first}) == 2
    assert torch.cuda.default_stream(1).cuda_stream == 0


def test_the_current_stream_is_chosen_and_restored() -> None:
    default = torch.cuda.current_stream(1)
    assert default == torch.cuda.default_stream(1)
    stream = torch.cuda.Stream(1)
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream(1) == stream
        assert torch.cuda.current_device() == 1
        assert torch._C._cuda_getCurrentRawStream(1) == stream.cuda_stream
        assert torch.accelerator.current_stream(1).stream_id == stream.stream_id
    assert torch.cuda.current_stream(1) == default
    assert torch.cuda.current_device() == 0
    with torch.cuda.stream(None):
        pass


def test_streams_wait_and_answer() -> None:
    first, second = torch.cuda.Stream(), torch.cuda.Stream(device=2)
    first.wait_stream(second)
    first.wait_event(second.record_event())
    first.synchronize()
    assert first.query()
    assert not torch.cuda.is_current_stream_capturing()
    assert not first.is_capturing()


def test_tensors_record_a_stream() -> None:
    tensor = torch.ones(1000, device="cuda:1")
    tensor.record_stream(torch.cuda.Stream(1))
    assert tensor.sum().item() == 1000


def test_an_external_stream_keeps_its_handle() -> None:
    external = torch.cuda.ExternalStream(0x7F0000123400, device="cuda:1")
    assert (external.cuda_stream, external.device) == (0x7F0000123400, torch.device("cuda:1"))
    assert torch.cuda.get_stream_from_external(0x7F0000123400, "cuda:1") == external
    ours = torch.cuda.Stream()
    assert torch.cuda.ExternalStream(ours.cuda_stream) == ours


def test_events_measure() -> None:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    assert repr(start) == "<torch.cuda.Event uninitialized>"
    with pytest.raises(ValueError, match="Both events must be recorded before calculating elapsed time"):
        start.elapsed_time(end)
    start.record()
    end.record(torch.cuda.current_stream())
    end.synchronize()
    assert end.query() and 0 <= start.elapsed_time(end) < 1000
    assert isinstance(start, torch.Event) and start.cuda_event != 0
    start.wait(torch.cuda.Stream())


def test_an_event_without_time_does_not_measure() -> None:
    start, end = torch.cuda.Event(), torch.cuda.Event()
    start.record()
    end.record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(end)


def test_an_event_has_a_device_once_it_is_recorded() -> None:
    event = torch.cuda.Event()
    assert event.device is None
    event.record(torch.cuda.Stream(device="cuda:1"))
    assert event.device == torch.device("cuda:1")


def test_no_time_passes_between_events_of_two_devices() -> None:
    first, second = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record(torch.cuda.Stream(device="cuda:0"))
    second.record(torch.cuda.Stream(device="cuda:1"))
    with pytest.raises(RuntimeError, match="invalid resource handle"):
        first.elapsed_time(second)
