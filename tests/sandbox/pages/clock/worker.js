importScripts('worker_kinds.js');
setInterval(() => postMessage(TICK), 50);
onmessage = ({ data }) => postMessage(data === Date.now() ? SAME_TIME : 'another time');
const asked = location.search === '?of=site' && location.pathname.endsWith('/worker.js');
fetch('worker_kinds.js')
  .then((response) => postMessage(asked && response.ok ? 'worker found its files' : 'lost worker'));
