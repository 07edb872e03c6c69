"""What is no address of the open internet, however it is written and whichever release of Python reads it."""

from __future__ import annotations

import ipaddress

import pytest
from yarl import URL

from notifications.providers.fence import Fence, Forbidden, is_public

CLOSED = (
    *("127.0.0.1", "0.0.0.1", "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1", "192.168.0.1", "198.18.0.1"),
    *("192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.51.100.1", "203.0.113.1", "224.0.0.1"),
    *("240.0.0.1", "255.255.255.255", "::1", "::", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:192.0.0.192"),
    *("64:ff9b::7f00:1", "64:ff9b::c000:c0", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::80ff:fffe"),
    *("100::1", "2001:2::1", "2001:10::1", "2001:db8::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254"),
    *("fe80::1", "fe80::1%1", "fec0::1", "ff02::1"),
)
OPEN = ("1.1.1.1", "192.0.1.1", "192.88.98.1", "2606:4700:4700::1111", "64:ff9b::101:101", "2001:4860:4860::8888")


@pytest.mark.parametrize("address", CLOSED)
def test_what_is_reserved_is_neither_open_nor_called(address: str) -> None:
    assert not is_public(address)
    assert not Fence().admits(address, "https")
    host = f"[{address.partition('%')[0]}]" if ":" in address else address
    with pytest.raises(Forbidden):
        Fence().check(URL(f"https://{host}/in"))


@pytest.mark.parametrize("address", OPEN)
def test_the_open_internet_is_called_by_https_alone(address: str) -> None:
    assert is_public(address)
    assert Fence().admits(address, "https")
    assert not Fence().admits(address, "http")


def test_a_reserved_network_is_called_where_it_was_allowed() -> None:
    fence = Fence((ipaddress.ip_network("192.0.0.0/24"),))
    assert fence.admits("192.0.0.192", "http")
    assert not fence.admits("192.88.99.1", "https")


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0177.0.0.1", "017700000001", "0", "010.0.0.1", "08.8.8.8"])
def test_a_number_that_is_no_plain_address_is_not_guessed_at(host: str) -> None:
    with pytest.raises(Forbidden):
        Fence().check(URL(f"https://{host}/in", encoded=True))
