// Real work that takes no virtual time: what a page fetches, decodes or loads is there before time goes on.
(() => {
  'use strict';
  const { timeline, realm, livingRealms, native, inWindow, getter, listen, sleep } = self.__clock;
  const LONGEST_MS = 5_000; // real; what takes longer is no longer waited for
  const HOPS = 5; // of a chain, as messages.js counts them, for loads that follow one another
  timeline.loads ??= createLoads();
  const { begin, end } = timeline.loads;

  function createLoads() {
    const waiting = new Map(); // anything -> {since, realm}
    let follows = true; // what begins next may be asked for by what has ended
    timeline.settlers.push(async () => {
      const waits = waiting.size > 0;
      while (waiting.size && !timeline.messages.isSlow()) {
        for (const [key, { since, realm: owner }] of waiting) {
          if (!owner.alive() || native.now() - since > LONGEST_MS) waiting.delete(key);
        }
        await sleep(0);
      }
      return waits;
    });
    // Fonts that the style of a document asks for, as far as it has any; to measure it is to have its style worked out.
    const fontsOf = inWindow && getter(Document, 'fonts'), elementOf = inWindow && getter(Document, 'documentElement');
    const ofFonts = (one) => {
      const fonts = one && fontsOf(one);
      return fonts?.size && elementOf(one)?.offsetHeight !== undefined && fonts.status === 'loading';
    };
    timeline.settlers.push(async () => {
      const since = native.now(), loading = () => livingRealms().some((one) => ofFonts(one.document()));
      const waits = loading();
      while (loading() && native.now() - since < LONGEST_MS) await sleep(0);
      return waits;
    });
    return {
      begin(key, owner) {
        waiting.set(key, { since: native.now(), realm: owner });
        if (follows) timeline.messages.count(HOPS);
        follows = false;
      },
      end(key) {
        waiting.delete(key);
        follows = true;
      },
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
      if (work) owner[name] = { [name](...values) {
        const begun = () => pending(work.apply(this, values));
        const { isSlow, hold } = timeline.messages;
        return isSlow() ? new Promise((resolve) => { hold(resolve, realm); }).then(begun) : begun();
      } }[name];
    }
  }
  self.__clock.awaitWork = wrap;
  wrap(self, ['fetch', 'createImageBitmap']);
  // A stream of what comes from elsewhere: all of it is there before time goes on, also for who reads it bit by bit.
  const { clone, arrayBuffer } = Response.prototype;
  const body = Object.getOwnPropertyDescriptor(Response.prototype, 'body');
  const drained = new WeakSet();
  Object.defineProperty(Response.prototype, 'body', { ...body, get() {
    const isForeign = this.type !== 'default' && !drained.has(this) && !this.bodyUsed;
    if (isForeign && body.get.call(this)?.locked === false) {
      drained.add(this);
      pending(arrayBuffer.call(clone.call(this))).catch(() => {});
    }
    return body.get.call(this);
  } });
  const { stream } = Blob.prototype;
  Blob.prototype.stream = { stream() {
    const [given, other] = stream.call(this).tee();
    pending(arrayBuffer.call(new Response(other))).catch(() => {});
    return given;
  } }.stream;
  wrap(Response.prototype, ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text']);
  wrap(Blob.prototype, ['arrayBuffer', 'bytes', 'text']);
  wrap(WebAssembly, ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming']);
  wrap(self.SubtleCrypto?.prototype, ['digest', 'encrypt', 'decrypt', 'sign', 'verify', 'deriveBits', 'deriveKey',
    'generateKey', 'importKey', 'exportKey', 'wrapKey', 'unwrapKey']);
  // What is asked for by calls that are waited for themselves, or by none: addresses.
  const called = self.__clock.called = new Set();
  function calls(address) {
    try {
      called.add(new URL(address, inWindow ? document.baseURI : self.location.href).href.split('#')[0]);
    } catch (unreadable) { /* the browser says so */ }
  }
  function calling(owner, name, addressOf) {
    const call = owner?.[name];
    if (call) owner[name] = { [name](...values) { calls(addressOf(...values)); return call.apply(this, values); } }[name];
  }
  calling(self, 'fetch', (input) => input?.url ?? input);
  calling(XMLHttpRequest.prototype, 'open', (method, address) => address);
  const { open } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = { open(...values) { end(this); return open.apply(this, values); } }.open; // gives up
  calling(self.Navigator?.prototype, 'sendBeacon', (address) => address);
  if (self.EventSource) {
    self.EventSource = new Proxy(EventSource, { construct(target, [address, ...rest], as) {
      calls(address);
      return until(Reflect.construct(target, [address, ...rest], as), 'open', 'error');
    } });
  }
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
        timeline.standing += 1;
        try { await update?.(); } finally {
          timeline.standing -= 1;
          begin(key, realm);
        }
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
})();
