"""TLS, with a certificate that signs itself."""

import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from tars_jax import InputError
from tars_jax.inference.server import ServerConfig, serving
from tars_jax.web.credentials import Certificate

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    for key, lock in (("key.pem", ["-nodes"]), ("locked.pem", ["-passout", "pass:word"])):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", *lock,
             "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2",
             "-keyout", folder / key, "-out", folder / f"{key}.chain"],
            check=True, capture_output=True,
        )  # fmt: skip
    return folder


async def scheme(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": scope["scheme"].encode()})


def test_a_client_that_trusts_it(folder: Path) -> None:
    config = ServerConfig(port=0, certificate=Certificate(folder / "key.pem.chain", folder / "key.pem"))
    with serving(scheme, config) as address:
        assert address.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=folder / "key.pem.chain")
        assert httpx.get(address, verify=trusting).text == "https"
        with pytest.raises(httpx.ConnectError, match="self-signed"):
            httpx.get(address)
        with pytest.raises(httpx.TransportError):
            httpx.get(address.replace("https", "http"))


@pytest.mark.parametrize(
    ("chain", "key"), [("none", "key.pem"), ("key.pem", "key.pem"), ("locked.pem.chain", "locked.pem")]
)
def test_files_that_cannot_be_used(folder: Path, chain: str, key: str) -> None:
    with pytest.raises(InputError, match=rf"^server: certificate and key must be .*; got .*{chain} and .*{key}: "):
        Certificate(folder / chain, folder / key)
