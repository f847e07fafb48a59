"""Asks the daemon over the framed protocol: prompt.py [ADDRESS] [TEXT]. Says yes or no to what needs it."""

import sys
from typing import Optional

from bridle_client import Client, Question, Refused, write


def judge(question: Question) -> Optional[str]:
    print(f"{question.text}\n  {write(question.wanted)}")
    return "allow" if input("allow? [y/N] ").strip().lower() == "y" else "deny"


def main() -> None:
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9105"
    text = " ".join(sys.argv[2:]) or "help"
    with Client(address, session="desk-python", on_approval=judge) as client:
        try:
            print(client.ask(text, timeout=600).text)
        except Refused as refusal:
            sys.exit(f"refused: {refusal}")


if __name__ == "__main__":
    main()
