// A JavaScript session: a cell a line in, what came of it a line out. The inspector's REPL mode keeps what a cell
// declares, and takes `await` and a second `const`.
'use strict';
const { Session } = require('node:inspector/promises');
const { createInterface } = require('node:readline');
const inspector = new Session();
inspector.connect();
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

async function evaluated(code) {
  taken = { stdout: '', stderr: '' };
  const { result, exceptionDetails } = await inspector.post('Runtime.evaluate', {
    expression: code, replMode: true, awaitPromise: true, generatePreview: true, userGesture: false,
  });
  const thrown = exceptionDetails?.exception;
  return {
    ...taken,
    error: exceptionDetails ? {
      name: thrown?.className ?? 'Error', text: thrown?.description ?? String(thrown?.value ?? exceptionDetails.text),
    } : null,
    value: result.type === 'undefined' || exceptionDetails ? null
      : result.type === 'string' ? `'${result.value}'` : result.description ?? String(result.value),
  };
}

(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    write(`${JSON.stringify(await evaluated(JSON.parse(line).code))}\n`);
  }
})();
