// Elements that load. Each is waited for until it tells of its load or its failure, if it has asked for anything at all:
// that is what the browser reports (reports.js), in tasks that run before its least urgent one. Where nothing is reported,
// on other hosts than the site, an element is taken at its word. Media, tracks and images are asked how far they are.
(() => {
  'use strict';
  const { timeline, realm, native, living, listen } = self.__clock;
  const { begin, end } = timeline.loads;
  timeline.elements ??= createElements();

  function createElements() {
    const { get: offsetHeight } = Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'offsetHeight');
    const parts = []; // {realm, look()} of each document
    timeline.settlers.unshift(async () => {
      for (const part of living(parts)) part.look();
      if (timeline.now < timeline.until) return false;
      // A style asks for pictures when it is worked out: not after what a call of the sandbox gives.
      for (const { realm: owner } of parts) {
        const one = owner.document();
        if (one.documentElement instanceof one.defaultView.HTMLElement) offsetHeight.call(one.documentElement);
      }
      await timeline.rest();
      return false;
    });
    return { parts };
  }

  const isReported = self.origin === ORIGIN || location.origin === ORIGIN;
  const RESTS_MS = 1_000; // real; a medium between two events does too
  const NEAR = { IMG: 1250, IFRAME: 2500 }; // px around the viewport: what is lazy loads there (Chromium, at 4G)

  const SCRIPT = /^(module|(text|application)\/(x-)?(java|ecma)script|text\/(javascript1\.[0-5]|jscript|livescript))?$/i;
  const near = new WeakSet(); // what was lazy
  const isLazy = (element) => element.loading === 'lazy' && !near.has(element);
  const isRelated = ({ rel }, ...kinds) => rel.toLowerCase().split(/\s+/).some((one) => kinds.includes(one));
  const ASKS = {
    IMG: (img) => !isLazy(img) && Boolean(img.getAttribute('src') || img.getAttribute('srcset') || img.closest('picture')),
    SCRIPT: (script) => script.src && SCRIPT.test(script.type.trim()) && !(script.noModule && script.type !== 'module'),
    LINK: (link) => link.href && (isRelated(link, 'modulepreload', 'preload', 'prefetch') ||
      (isRelated(link, 'stylesheet') && !link.disabled && /^(text\/css)?$/i.test(link.type.trim()))),
    STYLE: (style) => style.textContent.includes('@import') && /^(text\/css)?$/i.test(style.type.trim()),
    IFRAME: (frame) => frame.hasAttribute('srcdoc') ||
      (!isLazy(frame) && /^(https?|data|blob):/.test(frame.src)),
    OBJECT: (object) => object.data !== '',
    EMBED: (embed) => embed.src !== '',
    INPUT: (input) => input.type === 'image' && input.src !== '',
    image: (image) => image.href.baseVal !== '',
    use: (use) => !/^(#|$)/.test(use.href.baseVal),
  };
  const MEDIA = 'video, audio, track';
  const SELECTOR = `${Object.keys(ASKS)}, ${MEDIA}`;
  const IMPORT = /@import\s+(?:url\()?\s*["']?([^"')\s;]+)/g;
  const ASKED = ['src', 'srcset', 'sizes', 'href', 'xlink:href', 'rel', 'media', 'type', 'disabled', 'data', 'srcdoc',
    'loading', 'default', 'poster'];

  // ---- elements that tell of their load ----
  const candidates = new Map(); // element -> {reported}
  function addressesOf(element) {
    const { src, data, href } = element;
    const imported = element instanceof HTMLStyleElement ? element.textContent.matchAll(IMPORT) : [];
    const given = [src, data, href?.baseVal ?? href, ...[...imported].map(([, address]) => address)];
    return given.filter((one) => typeof one === 'string' && one);
  }
  // What of it is reported: the rest tells of its load in any case.
  const isTold = (element) => isReported && !/^(IMG|IFRAME)$/.test(element.nodeName) &&
    !(element instanceof HTMLLinkElement && isRelated(element, 'prefetch')) && !/^(data|blob):/.test(addressesOf(element)[0]);
  function awaited(element, asks = candidates.get(element)?.reported || !isTold(element)) {
    const candidate = { reported: asks, begun: false }; // begun: it has had the time to ask
    candidates.set(element, candidate);
    const anywhere = element instanceof HTMLScriptElement || element instanceof HTMLImageElement;
    begin(element, { alive: () => realm.alive() && (anywhere || element.isConnected) &&
      !(element instanceof HTMLImageElement && candidate.begun && element.complete) });
    const over = () => { if (candidates.get(element) === candidate) gone(element); };
    for (const type of ['load', 'error']) element.addEventListener(type, over, { once: true, capture: true });
    if (/^(OBJECT|EMBED)$/.test(element.nodeName)) element.offsetHeight; // asks as it is laid out
    if (isVain(element)) over();
    native.postTask(() => {
      candidate.begun = true;
      if (!candidate.reported) over();
    }, { priority: 'background' });
  }
  // What cannot load tells of nothing: addresses of another origin's blobs, and kinds of content that are shown by nobody.
  const SHOWN = /^(image|text)\/|^application\/(xhtml\+xml|xml|json|javascript)\b/i;
  function isVain({ nodeName, src, type, data, contentWindow }) {
    if (nodeName === 'IFRAME') return src.startsWith('blob:') && new URL(src).origin !== self.origin;
    if (nodeName === 'OBJECT' && contentWindow === null && !type) return !/^data:image|\.(png|jpe?g|gif|webp|avif|svg|bmp|ico)\b/i.test(data);
    return /^(OBJECT|EMBED)$/.test(nodeName) && type !== '' && !SHOWN.test(type) && !navigator.mimeTypes[type];
  }
  function gone(element) {
    candidates.delete(element);
    end(element);
  }
  const asksFor = (element, address) => addressesOf(element).some((given) =>
    URL.parse(given, document.baseURI)?.href.split('#')[0] === address);
  // A file that is saved, or a load that was stopped: no document follows.
  function abandoned(address) {
    for (const element of candidates.keys()) {
      if (/^(IFRAME|OBJECT|EMBED)$/.test(element.nodeName) && asksFor(element, address)) gone(element);
    }
  }
  function reported(address) { // whether an element asks for it
    let found = false;
    if (document.readyState === 'complete') for (const one of document.querySelectorAll(MEDIA)) media.add(one);
    for (const [element, candidate] of candidates) {
      if (!asksFor(element, address)) continue;
      candidate.reported = found = true;
    }
    return found;
  }

  // ---- those that say how far they are ----
  const media = new Set();
  const isLoading = (one) => (one instanceof HTMLTrackElement
    ? one.isConnected && one.readyState === HTMLTrackElement.LOADING
    : one.currentSrc && !one.error && one.networkState !== HTMLMediaElement.NETWORK_NO_SOURCE &&
      one.readyState < HTMLMediaElement.HAVE_ENOUGH_DATA && one.preload !== 'none');
  // It has as much as it wants: what it holds back comes when it plays (sound.js).
  const rests = (one) => one.networkState === HTMLMediaElement.NETWORK_IDLE && one.readyState > 0;
  const begins = (one) => native.postTask(() => media.add(one), { priority: 'background' }); // it has chosen its source
  function lookAtMedia() {
    for (const one of [...media].filter(isLoading)) {
      let rested = Infinity;
      begin(one, { alive() {
        if (rests(one)) rested = Math.min(rested, native.now());
        return realm.alive() && isLoading(one) && native.now() - rested < RESTS_MS;
      } });
    }
    media.clear();
  }
  const lazy = new Set();
  function isNear(element) {
    const { top, bottom, left, right } = element.getBoundingClientRect(), by = NEAR[element.nodeName];
    return element.getClientRects().length > 0 && bottom >= -by && right >= -by &&
      top <= self.innerHeight + by && left <= self.innerWidth + by;
  }
  function lookAtLazy() {
    for (const element of lazy) {
      if (!element.isConnected || !isLazy(element)) lazy.delete(element);
      else if (isNear(element)) {
        lazy.delete(element);
        near.add(element);
        element.loading = 'eager'; // it begins now, and not with one of the next frames
        element.loading = 'lazy';
        if (!element.complete) awaited(element, true);
      }
    }
  }
  timeline.elements.parts.push({ realm, abandoned, look() { lookAtMedia(); lookAtLazy(); } });

  function look(element) {
    if (element.matches(MEDIA)) media.add(element);
    else if (isLazy(element)) lazy.add(element);
    else if (ASKS[element.nodeName]?.(element)) awaited(element);
  }
  const loaded = new WeakSet();
  listen(document, 'load', (event) => loaded.add(event.target), true);
  function changed({ target, attributeName: name, oldValue }) {
    const element = target.closest('picture')?.querySelector('img') ?? target;
    if (!ASKS[element.nodeName]?.(element)) { gone(element); look(element); return; } // it asks for nothing any more
    const anew = isReported || element instanceof HTMLImageElement ||
      (element.getAttribute(name) !== oldValue && (name !== 'media' && name !== 'type'));
    if (anew) awaited(element);
  }
  const within = (root) => [...root.querySelectorAll(SELECTOR)];
  new MutationObserver((records) => {
    if (document.readyState !== 'complete') return; // the sandbox waits for the document itself
    for (const record of records) {
      if (record.type === 'attributes') { changed(record); continue; }
      if (record.target instanceof HTMLStyleElement) look(record.target);
      if (record.target instanceof HTMLMediaElement) media.add(record.target); // a source or a track
      for (const node of record.addedNodes) {
        if (!(node instanceof Element)) continue;
        const inserted = [...within(node), ...(node.matches(SELECTOR) ? [node] : [])];
        inserted.filter((element) => !loaded.has(element)).forEach(look);
      }
    }
  }).observe(document, { childList: true, subtree: true, attributeFilter: ASKED, attributeOldValue: true });
  listen(self, 'load', () => {
    for (const element of document.querySelectorAll('[loading=lazy]')) if (NEAR[element.nodeName]) lazy.add(element);
  }, true);
  for (const [kind, names, note] of [
    [HTMLImageElement, ['src', 'srcset'], (element) => { if (ASKS.IMG(element)) awaited(element); }],
    [HTMLMediaElement, ['src'], begins],
  ]) {
    for (const name of names) {
      const source = Object.getOwnPropertyDescriptor(kind.prototype, name);
      Object.defineProperty(kind.prototype, name, { ...source, set(value) { source.set.call(this, value); note(this); } });
    }
  }
  const { Audio } = self;
  self.Audio = new Proxy(Audio, { construct(target, values, as) {
    const audio = Reflect.construct(target, values, as);
    begins(audio);
    return audio;
  } });
  const { load } = HTMLMediaElement.prototype;
  HTMLMediaElement.prototype.load = { load() { load.call(this); begins(this); } }.load;
  self.__clock.reported = reported;
})();
