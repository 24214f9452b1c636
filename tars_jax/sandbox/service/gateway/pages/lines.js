// A small terminal for where xterm.js was not installed: lines, a caret that moves within its line, and no colors.
"use strict";

const KEYS = { Enter: "\r", Backspace: "\x7f", Tab: "\t", Escape: "\x1b", ArrowUp: "\x1b[A", ArrowDown: "\x1b[B",
  ArrowRight: "\x1b[C", ArrowLeft: "\x1b[D", Home: "\x1b[H", End: "\x1b[F", Delete: "\x1b[3~" };
const MOST_LINES = 2000;
// Control sequences, titles of windows, choices of character sets; one whose end has not come waits for it.
const SEQUENCE = /^\x1b(?:\[([0-9;?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Za-z]|[=>78A-Za-z])/;

class Lines {
  constructor(element, typed) {
    this.element = element;
    this.lines = [[]];
    this.column = 0;
    this.rest = "";
    this.drawing = 0;
    element.classList.add("plain");
    element.addEventListener("keydown", (event) => {
      const control = event.ctrlKey && !event.altKey && /^[a-z\\\]_@]$/i.test(event.key);
      const keys = control ? String.fromCharCode(event.key.toUpperCase().charCodeAt(0) & 31)
        : KEYS[event.key] ?? ([...event.key].length === 1 && !event.ctrlKey && !event.metaKey ? event.key : "");
      if (!keys || (event.ctrlKey && event.shiftKey)) return; // copy and paste are the browser's
      event.preventDefault();
      typed(keys);
    });
    element.addEventListener("paste", (event) => {
      event.preventDefault();
      typed(event.clipboardData.getData("text").replaceAll("\n", "\r"));
    });
  }

  write(text) {
    let left = this.rest + text;
    this.rest = "";
    while (left) {
      if (left[0] === "\x1b") {
        const found = SEQUENCE.exec(left);
        if (!found) {
          if (left.length < 4096) { this.rest = left; break; }
          left = left.slice(1);
          continue;
        }
        this.control(found[1] ?? "", found[2] ?? "");
        left = left.slice(found[0].length);
        continue;
      }
      const letter = String.fromCodePoint(left.codePointAt(0));
      left = left.slice(letter.length);
      this.put(letter);
    }
    this.drawing ||= requestAnimationFrame(() => this.draw());
  }

  put(letter) {
    const line = this.lines.at(-1);
    if (letter === "\n") {
      this.lines.push([]);
      if (this.lines.length > MOST_LINES) this.lines.shift();
      while (this.lines.at(-1).length < this.column) this.lines.at(-1).push(" ");
    } else if (letter === "\r") this.column = 0;
    else if (letter === "\b") this.column = Math.max(0, this.column - 1);
    else if (letter === "\t") do this.put(" "); while (this.column % 8);
    else if (letter >= " ") {
      while (line.length < this.column) line.push(" ");
      line[this.column++] = letter;
    }
  }

  control(given, kind) {
    const line = this.lines.at(-1), number = parseInt(given, 10) || 0;
    if (kind === "K") number === 1 ? line.fill(" ", 0, this.column) : line.splice(number === 2 ? 0 : this.column);
    else if (kind === "C") this.column += Math.max(1, number);
    else if (kind === "D") this.column = Math.max(0, this.column - Math.max(1, number));
    else if (kind === "G") this.column = Math.max(0, number - 1);
    else if (kind === "P") line.splice(this.column, Math.max(1, number));
    else if (kind === "@") line.splice(this.column, 0, ...Array(Math.max(1, number)).fill(" "));
    else if (kind === "J" && number >= 2) { this.lines = [[]]; this.column = 0; }
  }

  draw() {
    this.drawing = 0;
    const last = this.lines.at(-1), caret = document.createElement("span");
    caret.className = "caret";
    caret.textContent = last[this.column] ?? " ";
    const above = this.lines.slice(0, -1).map((line) => `${line.join("")}\n`).join("");
    const before = last.slice(0, this.column).join("").padEnd(this.column);
    this.element.replaceChildren(above + before, caret, last.slice(this.column + 1).join(""));
    this.element.scrollTop = this.element.scrollHeight;
  }
}
