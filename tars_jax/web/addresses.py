"""Which addresses of the Internet Protocol lead out into the public network, whatever they are wrapped in.

Python's `is_global` differs between its versions, and takes an IPv4 address inside an IPv6 one for public.
"""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

# IANA's special-purpose address registry (RFC 6890), multicast and what is reserved.
NOT_PUBLIC = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
            "203.0.113.0/24", "224.0.0.0/3",
        ),
    )
)  # fmt: skip
# All that is public lies in 2000::/3. In it: protocols (Teredo, ORCHID and others), documentation, 6to4, documentation.
PUBLIC6 = IPv6Network("2000::/3")
NOT_PUBLIC6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
# Their last 32 bits are an IPv4 address: a translator (NAT64, RFC 6052) or this machine sends it there.
WRAPPED = tuple(map(IPv6Network, ("64:ff9b::/96", "::ffff:0:0/96")))
ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # before an IPv4 address in the lower half (RFC 5214)


def is_public(address: str) -> bool:
    """Whether it is of the public network, and not of this machine, its network or a group. Raises ValueError."""
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in NOT_PUBLIC)
    inner = IPv4Address(int(parsed) & 0xFFFF_FFFF)
    if any(parsed in network for network in WRAPPED):
        return is_public(str(inner))
    if parsed not in PUBLIC6 or any(parsed in network for network in NOT_PUBLIC6):
        return False
    return not _is_isatap(parsed) or is_public(str(inner))


def _is_isatap(address: IPv6Address) -> bool:
    return (int(address) >> 32) & 0xFFFF_FFFF in ISATAP
