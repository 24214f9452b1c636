"""Leases in Valkey or Redis, which several managers share. Takes the extra tars_jax[leases].

Each operation is one script, which the server runs as a whole and by its own clock. The server has to keep what it has
answered (`appendonly yes`, `appendfsync always`); where it does not, a start of the store says so in the log.

    PREFIX:fence      the greatest fence that was given
    PREFIX:ids        ids of leases that may be held, by when they end
    PREFIX:l:ID       holder, place, fence, seconds, until, once, data, ended; forgotten some minutes after the end
"""

from __future__ import annotations

import importlib
import logging
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.leases.lease import (
    Lease,
    LeaseEnded,
    LeaseHeld,
    require_claim,
    require_id,
    require_renewal,
)
from tars_jax.sandbox.service.leases.table import EXPIRED, KEPT_S, RELEASED

log = logging.getLogger(__name__)
# Times are milliseconds of the server. Answers: {"held", ms left}, {"ended", why}, {"lease", field, value, ..., left}.
_COMMON = f"""
local key, ids, id = KEYS[1], KEYS[2], ARGV[1]
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local KEPT = {round(KEPT_S * 1000)}
local function finish(why)
  redis.call('HSET', key, 'ended', why)
  redis.call('PEXPIRE', key, KEPT)
  redis.call('ZREM', ids, id)
end
local function settled()
  local r = {{}}
  local flat = redis.call('HGETALL', key)
  for i = 1, #flat, 2 do r[flat[i]] = flat[i + 1] end
  if not r.fence then return nil end
  if r.ended == '' and tonumber(r['until']) <= now then
    finish('{EXPIRED}')
    r.ended = '{EXPIRED}'
  end
  return r
end
local function lease(r)
  return {{'lease', r.holder, r.place, r.fence, r.seconds, r.data, tostring(tonumber(r['until']) - now)}}
end
local function last(r)
  redis.call('ZADD', ids, r['until'], id)
  redis.call('PEXPIREAT', key, tonumber(r['until']) + KEPT)
end
local function held(r, fence)
  if not r then return {{'ended', 'nobody has claimed it'}} end
  if r.fence ~= fence then return {{'ended', 'its fence is ' .. r.fence .. ', not ' .. fence}} end
  if r.ended ~= '' then return {{'ended', r.ended}} end
end
local r = settled()
"""
_CLAIM = """
local holder, seconds, place, once, data = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if r then
  local same = once ~= '' and r.once == once and r.holder == holder
  if r.ended == '' then
    if same then return lease(r) end
    return {'held', tostring(tonumber(r['until']) - now)}
  end
  if same then return {'ended', r.ended} end
end
r = {holder = holder, seconds = seconds, place = place, once = once, data = data, ended = ''}
r.fence = tostring(redis.call('INCR', KEYS[3]))
r['until'] = tostring(now + math.ceil(tonumber(seconds) * 1000))
redis.call('DEL', key)
for name, value in pairs(r) do redis.call('HSET', key, name, value) end
last(r)
return lease(r)
"""
_RENEW = """
local wrong = held(r, ARGV[2])
if wrong then return wrong end
if ARGV[3] ~= '' then r.seconds = ARGV[3] end
if ARGV[4] == 'data' then r.data = ARGV[5] end
r['until'] = tostring(math.max(tonumber(r['until']), now + math.ceil(tonumber(r.seconds) * 1000)))
redis.call('HSET', key, 'seconds', r.seconds, 'data', r.data, 'until', r['until'])
last(r)
return lease(r)
"""
_RELEASE = f"""
if held(r, ARGV[2]) then return {{'released', '0'}} end
finish('{RELEASED}')
return {{'released', '1'}}
"""
_LOOK_UP = """
if not r then return {'ended', 'nobody has claimed it'} end
if r.ended ~= '' then return {'ended', r.ended} end
return lease(r)
"""


class ValkeyLeases:
    """The `Leases` of a server, under a prefix of its own."""

    def __init__(self, address: str, prefix: str = "tars_jax:leases") -> None:
        """`address`: redis://HOST:PORT/0, or valkey://. Raises InputError where the extra is not installed."""
        try:
            self._redis = importlib.import_module("redis.asyncio")
            self._errors = importlib.import_module("redis.exceptions")
        except ImportError as error:
            raise InputError(
                f"leases in Valkey or Redis take the package redis, which is not installed ({error}): "
                "pip install 'tars_jax[leases]'"
            ) from error
        self._address = address.replace("valkey://", "redis://", 1)
        self._prefix = prefix

    async def __aenter__(self) -> Self:
        """Raises InputError where nothing answers at the address."""
        try:
            self._server = self._redis.from_url(self._address, decode_responses=True, socket_timeout=10)
            await self._server.ping()
            kept = {**await self._server.config_get("appendonly"), **await self._server.config_get("appendfsync")}
        except (OSError, ValueError, self._errors.RedisError) as error:
            raise InputError(
                f"leases must have a Valkey or Redis that answers; got {self._address!r}: {error}"
            ) from error
        if kept != {"appendonly": "yes", "appendfsync": "always"}:
            log.warning("leases: %s may lose what it has answered; appendonly yes and appendfsync always keep it", kept)
        self._scripts = {
            name: self._server.register_script(_COMMON + script)
            for name, script in (("claim", _CLAIM), ("renew", _RENEW), ("release", _RELEASE), ("look_up", _LOOK_UP))
        }
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.aclose()

    async def claim(
        self, id: str, holder: str, seconds: float, *, place: str = "", once: str = "", data: str = ""
    ) -> Lease:
        require_claim(id, seconds, holder=holder, place=place, once=once, data=data)
        return await self._lease("claim", id, holder, repr(seconds), place, once, data)

    async def renew(self, id: str, fence: int, seconds: float | None = None, data: str | None = None) -> Lease:
        require_renewal(id, seconds, data)
        length = "" if seconds is None else repr(seconds)
        return await self._lease("renew", id, str(fence), length, "" if data is None else "data", data or "")

    async def release(self, id: str, fence: int) -> bool:
        require_id(id)
        return (await self._run("release", id, str(fence)))[1] == "1"

    async def look_up(self, id: str) -> Lease:
        require_id(id)
        return await self._lease("look_up", id)

    async def list(self, prefix: str = "") -> list[Lease]:
        try:
            ids = await self._server.zrange(f"{self._prefix}:ids", 0, -1)
        except (OSError, self._errors.RedisError) as error:
            raise SandboxFailure("storage", f"leases cannot be read: {error}") from error
        found = []
        for id in sorted(each for each in ids if each.startswith(prefix)):
            try:
                found.append(await self.look_up(id))
            except LeaseEnded:
                continue
        return found

    async def _lease(self, name: str, id: str, *arguments: str) -> Lease:
        answer = await self._run(name, id, *arguments)
        if answer[0] == "held":
            raise LeaseHeld(id, float(answer[1]) / 1000)
        if answer[0] == "ended":
            raise LeaseEnded(id, answer[1])
        _, holder, place, fence, seconds, data, left = answer
        return Lease(id, holder, place, int(fence), float(seconds), float(left) / 1000, data)

    async def _run(self, name: str, id: str, *arguments: str) -> Any:
        keys = [f"{self._prefix}:l:{id}", f"{self._prefix}:ids", f"{self._prefix}:fence"]
        try:
            return await self._scripts[name](keys=keys, args=[id, *arguments])
        except (OSError, self._errors.RedisError) as error:
            raise SandboxFailure("storage", f"leases cannot be kept: {error}") from error
