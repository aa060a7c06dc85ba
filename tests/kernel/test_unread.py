"""No message to a kernel lies unread because a reply went out as it came in."""

from collections.abc import Iterator
from pathlib import Path
from queue import Empty

import pytest
from fixtures.binder import BINDER_PYTHON, missing_binder
from kernel.driver import Kernel
from kernel.driver import kernel as kernel_in

pytestmark = pytest.mark.kernel

REQUESTS = 4000
UNDER_WAY = 3


@pytest.fixture
def binder_kernel(tmp_path: Path) -> Iterator[Kernel]:
    """A kernel of ipykernel 7.0.1, which loses messages of itself."""
    if lack := missing_binder():
        pytest.skip(lack)
    with kernel_in(tmp_path, python=BINDER_PYTHON) as kernel:
        yield kernel


def requests_answered(kernel: Kernel) -> int:
    """How many of many requests get their reply while others come in."""
    for _ in range(UNDER_WAY):
        kernel.client.comm_info()
    for number in range(REQUESTS):
        try:
            kernel.client.get_shell_msg(timeout=5)
        except Empty:
            return number
        kernel.client.comm_info()
    return REQUESTS


def test_every_request_is_answered_once_the_extension_is_loaded(binder_kernel: Kernel):
    binder_kernel.ok("%load_ext bread_nb")
    assert requests_answered(binder_kernel) == REQUESTS


def test_unloading_gives_the_kernel_its_own_socket_back(binder_kernel: Kernel):
    kernel = "get_ipython().kernel"
    sends = f"{kernel}.shell_channel_thread.manager._shell_socket"
    binder_kernel.ok("%load_ext bread_nb")
    assert binder_kernel.ok(f"{sends} is {kernel}.shell_stream").plain == ["True"]
    binder_kernel.ok("%unload_ext bread_nb")
    found = binder_kernel.ok(f"{sends} is {kernel}.shell_stream.socket")
    assert found.plain == ["True"]
