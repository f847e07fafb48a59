"""An OpenHarness Shell with one action of its own: lamp.py [URL] [TEXT], the token in BRIDLE_TOKEN."""

import os
import sys
from typing import Any, Optional

from bridle_client import Ask, Engine, Ui


class Terminal(Ui):
    can_ask = True

    def render(self, text: str, format: str) -> None:
        print(text)

    def notice(self, code: str, text: Optional[str]) -> None:
        print(f"[{code}] {text or ''}")

    def ask(self, question: Ask, timeout: Optional[float]) -> Optional[str]:
        print(question.message or f"{question.action_type} ({question.risk_tier}): {question.payload}")
        for option in question.options or []:
            print(f"  {option['option_id']}: {option['label']}")
        answer = input("id of an option: " if question.options else "allow? [y/N] ").strip()
        return answer if question.options else "allow" if answer == "y" else None


def switch(payload: dict[str, Any]) -> dict[str, bool]:
    on = payload.get("on") is True
    print("the lamp is", "on" if on else "off")
    return {"on": on}


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8788"
    engine = Engine(url, token=os.environ.get("BRIDLE_TOKEN"), ui=Terminal(), acts={"com.example.lamp": switch})
    turn = engine.ask(" ".join(sys.argv[2:]) or "help", session_id="desk")
    engine.close()
    if turn.error:
        sys.exit(f"{turn.error.code}: {turn.error.message}")


if __name__ == "__main__":
    main()
