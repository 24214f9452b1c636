// A Node.js behind the same lines as kernel.py: node -e PROGRAM, whose stdin and stdout are one socket. What cells
// declare stays; the inspector's REPL mode takes `await` and a second `const`. What a cell writes is told at its end.
// SIGINT ends the kernel.
'use strict';
const { Session } = require('node:inspector');
const { createInterface } = require('node:readline');
const { promisify } = require('node:util');
const PIECE = 16384; // characters, which are 96 KiB of JSON at most
const inspector = new Session();
inspector.connect();
const post = promisify(inspector.post.bind(inspector));
const write = process.stdout.write.bind(process.stdout);
let taken = { stdout: '', stderr: '' };
for (const name of ['stdout', 'stderr']) {
  process[name].write = (data, encoding, told) => {
    taken[name] += typeof data === 'string' ? data : Buffer.from(data).toString();
    (typeof encoding === 'function' ? encoding : told)?.();
    return true;
  };
}
globalThis.require = require;
process.on('uncaughtException', (error) => { taken.stderr += `${error?.stack ?? error}\n`; });

function say(message) {
  write(`${JSON.stringify(message)}\n`);
}

function sayText(field, text, more = {}) {
  for (let at = 0, end; at < text.length; at = end) {
    end = at + PIECE;
    if (text.codePointAt(end - 1) > 0xffff) end -= 1; // a pair of surrogates stays together
    say({ ...more, [field]: text.slice(at, end) });
  }
}

async function run(code) {
  taken = { stdout: '', stderr: '' };
  const { result, exceptionDetails } = await post('Runtime.evaluate', {
    expression: code, replMode: true, awaitPromise: true, generatePreview: true, userGesture: false,
  });
  for (const stream of ['stdout', 'stderr']) sayText('text', taken[stream], { stream });
  if (exceptionDetails) {
    const thrown = exceptionDetails.exception;
    say({ error_name: thrown?.className ?? 'Error' });
    sayText('error', thrown?.description ?? String(thrown?.value ?? exceptionDetails.text));
  } else if (result.type !== 'undefined') {
    sayText('result', result.type === 'string' ? `'${result.value}'` : result.description ?? String(result.value));
  }
}

(async () => {
  say({ ready: process.pid });
  for await (const line of createInterface({ input: process.stdin })) {
    let cell;
    try {
      cell = JSON.parse(line);
    } catch { // what a host that was killed has left of one
      continue;
    }
    await run(cell.code);
    say({ done: true, cell: cell.cell });
  }
})();
