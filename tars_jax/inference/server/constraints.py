"""Constraints that come while the engine runs, behind those that it began with: a learner's, and those of tools.

PUT /v1/rl/constraints/NAME {"pattern": ...} takes a pattern (Rust's `regex` syntax) under a name; it stays. States that
have been given keep their numbers, so that answers under way go on. Those of tools and of JSON come and go: where there
are too many, the table begins anew behind what stays, as soon as no answer is sampled under one.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
from collections.abc import AsyncIterator, Callable

from starlette.requests import Request
from starlette.responses import Response

from tars_jax import InputError
from tars_jax.inference.constraint import Constraints, Spelling, extend_constraints, unconstrained
from tars_jax.inference.server.served import Served
from tars_jax.web.protocol import RequestError, RequestFields, busy
from tars_jax.web.responses import JsonResponse, read_json

MOST_STATES = 1 << 15
NAME = re.compile(r"[\w.-]{1,80}", re.ASCII)


class ServedConstraints:
    """The table of constraints of a server's engine, to which clients add patterns."""

    def __init__(self, served: Served) -> None:
        self._served, self._engine = served, served.engine
        self._lasting = served.engine.constraints
        self._patterns: dict[str, str] = {}  # of those that came and stay
        self._changing = asyncio.Lock()
        self._passing = 0  # answers under way whose constraint does not stay

    async def put(self, request: Request) -> Response:
        """{pattern} -> {name, shortest}: the fewest tokens of an answer. The same again does nothing."""
        name = request.path_params["name"]
        if not NAME.fullmatch(name):
            raise RequestError(f"name must be 1 to 80 of the characters A-Z a-z 0-9 _ . -; got {name[:100]!r}", "name")
        fields = RequestFields(await read_json(request))
        pattern = fields.text("pattern")
        fields.done()
        async with self._changing:
            if self._patterns.get(name) != pattern:
                await self._keep(name, pattern)
            assert self._lasting is not None
            return JsonResponse({"name": name, "shortest": self._lasting.shortest(name)})

    @contextlib.asynccontextmanager
    async def passing(self, name: str, pattern: Callable[[], str], field: str) -> AsyncIterator[str]:
        """The same name, under which answers may be asked for as long as the block runs. `field`: of the request, that
        asks for it.

        Raises InputError for a pattern that cannot be compiled, and RequestError where there is no room just now.
        """
        self._require_spelling(f"{field} cannot ask for a form of the answer", field)
        self._passing += 1
        try:
            async with self._changing:
                await self._pass(name, pattern)
            yield name
        finally:
            self._passing -= 1

    async def _keep(self, name: str, pattern: str) -> None:
        lasting = self._lasting
        self._require_spelling("a pattern cannot be taken", "pattern")
        if lasting is not None and name in lasting.start:
            raise RequestError(f"name must be a new one for another pattern; got {name!r}", "name", status=409)
        if lasting is not None and len(lasting.next_state) > MOST_STATES:
            words = "the table of constraints is full; it begins anew with the server"
            raise RequestError(words, "name", status=507, code="no_room")
        if self._passing:  # what stays is numbered as if they were not there
            raise busy("answers of tools or JSON are under way; ask again")
        try:
            self._lasting = await asyncio.to_thread(self._grown, lasting, name, pattern, one_way=True)
        except InputError as error:
            raise RequestError(str(error), "pattern") from error
        self._patterns[name] = pattern
        self._engine.set_constraints(self._lasting)

    async def _pass(self, name: str, pattern: Callable[[], str]) -> None:
        constraints = self._engine.constraints
        if constraints is not None and name in constraints.start:
            return
        if constraints is not None and len(constraints.next_state) > MOST_STATES:
            if self._passing > 1:
                raise busy("answers of other forms are under way; ask again")
            constraints = self._lasting
        self._engine.set_constraints(await asyncio.to_thread(self._grown, constraints, name, pattern(), one_way=False))

    def _require_spelling(self, words: str, param: str) -> None:
        if self._served.token_bytes is None:
            raise RequestError(f"{words}, as this server does not know what its tokens stand for", param)

    def _grown(self, before: Constraints | None, name: str, pattern: str, *, one_way: bool) -> Constraints:
        """In a thread. `one_way`: what the pattern leaves no choice of has one spelling, as learners have it."""
        encode = self._served.codec.encode if one_way else None
        grown = before or unconstrained(self._engine.model.vocabulary)
        return extend_constraints(grown, {name: pattern}, self._spelling._replace(encode=encode))

    @functools.cached_property
    def _spelling(self) -> Spelling:
        assert self._served.token_bytes is not None
        return Spelling.of(self._served.token_bytes(), self._served.stop, self._engine.model.vocabulary)
