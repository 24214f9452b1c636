// Real work that takes no virtual time: what a page fetches, decodes or loads is there before time goes on.
(() => {
  'use strict';
  const { timeline, realm, native, inWindow, sleep } = self.__clock;
  const LONGEST_MS = 5_000; // real; what takes longer is no longer waited for
  timeline.loads ??= createLoads();
  const { begin, end } = timeline.loads;

  function createLoads() {
    const waiting = new Map(); // anything -> {since, realm}
    timeline.settlers.push(async () => {
      const waits = waiting.size > 0;
      while (waiting.size) {
        for (const [key, { since, realm: owner }] of waiting) {
          if (!owner.alive() || native.now() - since > LONGEST_MS) waiting.delete(key);
        }
        await sleep(0);
      }
      return waits;
    });
    return {
      begin(key, owner) { waiting.set(key, { since: native.now(), realm: owner }); },
      end(key) { waiting.delete(key); },
    };
  }

  function pending(promise) {
    begin(promise, realm);
    const ended = () => end(promise);
    promise.then(ended, ended);
    return promise;
  }
  function wrap(owner, names) {
    for (const name of names) {
      const work = owner?.[name];
      if (work) owner[name] = { [name](...values) { return pending(work.apply(this, values)); } }[name];
    }
  }
  self.__clock.awaitWork = wrap;
  wrap(self, ['fetch', 'createImageBitmap']);
  wrap(Response.prototype, ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text']);
  wrap(Blob.prototype, ['arrayBuffer', 'bytes', 'text']);
  wrap(WebAssembly, ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming']);
  wrap(self.SubtleCrypto?.prototype, ['digest', 'encrypt', 'decrypt', 'sign', 'verify', 'deriveBits', 'deriveKey',
    'generateKey', 'importKey', 'exportKey', 'wrapKey', 'unwrapKey']);
  const { send } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.send = function (...values) {
    begin(this, realm);
    this.addEventListener('loadend', () => end(this), { once: true });
    return send.apply(this, values);
  };
  if (self.FileReader) {
    for (const name of ['readAsArrayBuffer', 'readAsBinaryString', 'readAsDataURL', 'readAsText']) {
      const readAs = FileReader.prototype[name];
      FileReader.prototype[name] = function (...values) {
        begin(this, realm);
        this.addEventListener('loadend', () => end(this), { once: true });
        return readAs.apply(this, values);
      };
    }
  }
  if (!inWindow) return;

  wrap(HTMLImageElement.prototype, ['decode']);
  wrap(self.FontFace?.prototype, ['load']);
  const { toBlob } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.toBlob = function (callback, ...values) {
    const key = {};
    begin(key, realm);
    return toBlob.call(this, (blob) => { end(key); callback(blob); }, ...values);
  };
  // Images, whether in the document or not; scripts, style sheets and frames when they are inserted.
  function awaited(element) {
    begin(element, realm);
    const once = { once: true, capture: true };
    for (const type of ['load', 'error']) element.addEventListener(type, () => end(element), once);
  }
  const source = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, 'src');
  Object.defineProperty(HTMLImageElement.prototype, 'src', {
    ...source,
    set(value) {
      source.set.call(this, value);
      if (this.loading !== 'lazy' && this.getAttribute('src')) awaited(this);
    },
  });
  const loaded = new WeakSet();
  document.addEventListener('load', (event) => loaded.add(event.target), true);
  const LOADING = 'img[src]:not([loading=lazy]), script[src], link[rel=stylesheet][href], iframe[src], iframe[srcdoc]';
  const isLoading = (element) => !loaded.has(element) && !(element instanceof HTMLImageElement && element.complete);
  new MutationObserver((records) => {
    if (document.readyState !== 'complete') return; // the sandbox waits for the document itself
    for (const { addedNodes } of records) {
      for (const node of addedNodes) {
        if (!(node instanceof Element)) continue;
        const inserted = [...node.querySelectorAll(LOADING), ...(node.matches(LOADING) ? [node] : [])];
        inserted.filter(isLoading).forEach(awaited);
      }
    }
  }).observe(document, { childList: true, subtree: true });
})();
