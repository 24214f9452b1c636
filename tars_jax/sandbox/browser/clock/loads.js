// Real work that takes no virtual time: what a page fetches, decodes or loads is there before time goes on.
(() => {
  'use strict';
  const { timeline, realm, native, inWindow, listen, sleep } = self.__clock;
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
    // Fonts that the style of a document asks for, as far as it has any; to measure it is to have its style worked out.
    const ofFonts = ({ self: { document: one } }) =>
      one?.fonts.size && one.documentElement?.offsetHeight !== undefined && one.fonts.status === 'loading';
    timeline.settlers.push(async () => {
      const since = native.now(), loading = () => [...timeline.realms].some(ofFonts);
      const waits = loading();
      while (loading() && native.now() - since < LONGEST_MS) await sleep(0);
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
  // Until `target` tells one of `types`.
  function until(target, ...types) {
    begin(target, realm);
    for (const type of types) target.addEventListener(type, () => end(target), { once: true });
    return target;
  }
  if (self.indexedDB) {
    wrap(IDBFactory.prototype, ['databases']);
    for (const name of ['open', 'deleteDatabase']) {
      const request = IDBFactory.prototype[name];
      IDBFactory.prototype[name] = function (...values) {
        return until(request.apply(this, values), 'success', 'error', 'blocked');
      };
    }
    const { transaction } = IDBDatabase.prototype;
    IDBDatabase.prototype.transaction = function (...values) {
      return until(transaction.apply(this, values), 'complete', 'abort');
    };
  }
  wrap(self.Permissions?.prototype, ['query']);
  // What is broadcast goes through the browser.
  timeline.broadcasts ??= new Map(); // channel -> the messages that are on their way to it
  self.BroadcastChannel = class extends self.BroadcastChannel {
    constructor(name) {
      super(name);
      timeline.broadcasts.set(this, []);
      this.addEventListener('message', () => end(timeline.broadcasts.get(this)?.shift()));
    }
    postMessage(data) {
      super.postMessage(data);
      for (const [channel, messages] of timeline.broadcasts) {
        if (channel === this || channel.name !== this.name) continue;
        const message = {};
        begin(message, realm);
        messages.push(message);
      }
    }
    close() {
      super.close();
      timeline.broadcasts.get(this)?.forEach(end);
      timeline.broadcasts.delete(this);
    }
  };
  Object.defineProperty(self.BroadcastChannel, 'name', { value: 'BroadcastChannel' });
  wrap(self.OffscreenCanvas?.prototype, ['convertToBlob']);
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
  wrap(self.FontFaceSet?.prototype, ['load']);
  const { toBlob } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.toBlob = function (callback, ...values) {
    const key = {};
    begin(key, realm);
    return toBlob.call(this, (blob) => { end(key); callback(blob); }, ...values);
  };
  // A view transition takes its pictures with frames of the browser; its callback may wait for what takes virtual time.
  for (const owner of [Document.prototype, Element.prototype]) {
    const { startViewTransition } = owner;
    if (!startViewTransition) continue;
    owner.startViewTransition = function (given) {
      const key = {};
      const update = typeof given === 'function' ? given : given?.update;
      const followed = async () => {
        end(key);
        try { await update?.(); } finally { begin(key, realm); }
      };
      begin(key, realm);
      const options = typeof given === 'object' && given ? { ...given, update: followed } : followed;
      const transition = startViewTransition.call(this, options);
      transition.ready.catch(() => {}).then(() => end(key));
      return transition;
    };
  }
  // Where the history leads is for the browser to say; it tells of a new fragment in a task of its own.
  const travel = {}, fragment = {};
  for (const [name, step] of [['back', () => -1], ['forward', () => 1], ['go', (delta) => Math.trunc(delta) || 0]]) {
    const go = History.prototype[name];
    History.prototype[name] = function (...values) {
      const place = self.navigation?.currentEntry?.index + step(...values);
      if (self.navigation?.entries()[place]) begin(travel, realm);
      return go.apply(this, values);
    };
  }
  self.navigation?.addEventListener('navigate', (event) => {
    if (!event.destination.sameDocument) end(travel); // page.js goes on from here
    if (!event.hashChange) return;
    begin(fragment, realm);
    event.signal.addEventListener('abort', () => end(fragment));
  });
  listen(self, 'popstate', () => end(travel), true);
  listen(self, 'hashchange', () => end(fragment), true);
  // Images, whether in the document or not; scripts, style sheets and frames when they are inserted; images and style
  // sheets in the document whose attributes ask for another one.
  const shown = (element) => ({ alive: () => realm.alive() && element.isConnected });
  const loadsAnywhere = (element) => element instanceof HTMLImageElement || element instanceof HTMLScriptElement;
  function awaited(element) {
    begin(element, loadsAnywhere(element) ? realm : shown(element));
    const once = { once: true, capture: true };
    for (const type of ['load', 'error']) element.addEventListener(type, () => end(element), once);
  }
  for (const name of ['src', 'srcset']) {
    const source = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, name);
    Object.defineProperty(HTMLImageElement.prototype, name, {
      ...source,
      set(value) {
        source.set.call(this, value);
        if (this.loading !== 'lazy' && this.getAttribute(name)) awaited(this);
      },
    });
  }
  const loaded = new WeakSet();
  listen(document, 'load', (event) => loaded.add(event.target), true);
  const PICTURE = 'img:is([src], [srcset]):not([loading=lazy]), image:is([href], [*|href])';
  const STYLE = 'link[rel~=stylesheet][href]:not([disabled])';
  const LOADING = `${PICTURE}, ${STYLE}, script[src], iframe[src], iframe[srcdoc]`;
  const isLoading = (element) => !loaded.has(element) && !(element instanceof HTMLImageElement && element.complete);
  function asksAnew(element, { attributeName: name, oldValue }) {
    if (!element.matches(`${PICTURE}, ${STYLE}`)) return false;
    if (element instanceof HTMLImageElement) return !element.complete;
    return element.getAttribute(name) !== oldValue && (name === 'href' || element.sheet === null);
  }
  // A style sheet in the page's own text may ask for others.
  const asksForMore = (element) => element instanceof HTMLStyleElement && element.textContent.includes('@import');
  function changed(record) {
    const element = record.target.closest('picture')?.querySelector('img') ?? record.target;
    if (asksAnew(element, record)) awaited(element);
    else if (!element.matches(`${PICTURE}, ${STYLE}`)) end(element); // it asks for nothing any more
  }
  const ASKED = ['src', 'srcset', 'sizes', 'href', 'rel', 'media', 'type', 'disabled'];
  new MutationObserver((records) => {
    if (document.readyState !== 'complete') return; // the sandbox waits for the document itself
    for (const record of records) {
      if (record.type === 'attributes' && record.target.matches('img, picture > source, image, link')) changed(record);
      for (const node of record.addedNodes) {
        if (asksForMore(record.target)) awaited(record.target);
        if (!(node instanceof Element)) continue;
        const inserted = [...node.querySelectorAll(LOADING), ...(node.matches(LOADING) ? [node] : [])];
        inserted.filter(isLoading).forEach(awaited);
        [node, ...node.querySelectorAll('style')].filter(asksForMore).forEach(awaited);
      }
    }
  }).observe(document, { childList: true, subtree: true, attributeFilter: ASKED, attributeOldValue: true });
})();
