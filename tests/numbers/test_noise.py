"""What differs between two runs of one program."""

import torch
from observed import LOSS, event, run

from devsan.numbers.comparison import compare
from devsan.numbers.noise import without_noise


def test_what_varies_by_itself_is_left_out():
    first, again = (run(LOSS, event("value", torch.tensor(number))) for number in (1, 2))
    numbers, noise = without_noise(first, again)
    assert noise == ""
    found = compare(numbers, run(LOSS, event("value", torch.tensor(3))))
    assert found.equal and found.compared == {"loss": 1}
    _, noise = without_noise(run(LOSS), run(event("loss", torch.tensor(2.0))))
    assert noise == "loss: expected 1, got 2"


def steps(*numbers):
    return run(*(event("loss", torch.tensor(number, dtype=torch.float64)) for number in numbers))


def test_noise_that_grows_widens_the_tolerance_where_it_was_seen():
    numbers, noise = without_noise(steps(4.0, 3.0, 2.0), steps(4.0, 3.0, 2.001))
    assert noise == ""
    assert compare(numbers, steps(4.0, 3.0, 1.995)).equal
    assert compare(numbers, steps(4.0, 3.0, 1.95)).difference
    assert compare(numbers, steps(4.0, 3.001, 2.0)).difference == "loss 2: expected 3, got 3.001"


def test_what_differs_from_the_first_step_or_by_much_is_no_noise_that_grows():
    _, noise = without_noise(steps(4.0, 3.0), steps(4.001, 3.0))
    assert noise == "loss: expected 4, got 4.001"
    _, noise = without_noise(steps(4.0, 3.0), steps(4.0, 3.5))
    assert noise == "loss: expected 3, got 3.5"


def test_weights_that_are_rounding_are_left_out_beside_others():
    def stepped(bias, weight):
        return run(LOSS, event("weights", torch.tensor(bias), torch.tensor(weight)))

    numbers, noise = without_noise(stepped([1e-3], [0.5]), stepped([-1e-3], [0.5]))
    assert noise == ""
    assert compare(numbers, stepped([2e-3], [0.5])).compared == {"loss": 1, "weights": 1}
    assert compare(numbers, stepped([1e-3], [0.6])).difference == "weights 1: tensor 1: expected 0.5, got 0.6"
    _, noise = without_noise(stepped([1e-3], [0.5]), stepped([-1e-3], [0.6]))
    assert noise == "weights: tensor 0: expected 0.001, got -0.001"


def gradients(*steps_of_two):
    return run(
        LOSS, *(event("gradients", torch.tensor([weight]), torch.tensor([bias])) for weight, bias in steps_of_two)
    )


def test_a_gradient_that_is_rounding_is_so_in_the_second_run_as_well():
    """A bias in front of a batch norm: its gradient is zero by mathematics."""
    numbers, noise = without_noise(gradients((1.0, -3.7e-8)), gradients((1.0, -2.9e-8)))
    assert noise == ""
    assert compare(numbers, gradients((1.0, 1e-8))).equal
    assert compare(numbers, gradients((1.0, 1e-3))).difference


def test_noise_of_a_gradient_is_beside_the_largest_of_its_step():
    first = gradients((1.0, 0.5), (1.0, -3.07e-3))
    numbers, noise = without_noise(first, gradients((1.0, 0.5), (1.0, -3.17e-3)))
    assert noise == ""
    assert compare(numbers, gradients((1.0, 0.5), (1.0, -2.9e-3))).equal
    assert compare(numbers, gradients((1.0, 0.5), (1.0, 3e-3))).difference
    _, noise = without_noise(first, gradients((1.0, 0.5), (1.0, 2e-2)))
    assert noise == "gradients: tensor 1: expected -0.00307, got 0.02"
