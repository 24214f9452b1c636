"""A recorder to be killed, as a program: writes events, pictures and voice without an end, and says what is written."""

import sys
from pathlib import Path

from tests.annotation.in_situ.simulated import Session


def main() -> None:
    session = Session(Path(sys.argv[1]))
    turn = 0
    while True:
        turn += 1
        session.fake.draw(turn % 250 + 1)
        session.type(chr(0x4E00 + turn % 5000))
        session.run(2.0, voice=True)
        print(turn, flush=True)


if __name__ == "__main__":
    main()
