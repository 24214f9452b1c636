// What the browser reports of loads: of those that no call and no element of the page tells of, as modules by `import()`
// and pictures that a style asks for, and whether an element has asked for anything (elements.js).
//
// The site's answers carry a policy that forbids nothing and reports such requests (REPORTING in __init__.py). A report
// comes in a task, before time goes on; that of what a module imports, before anything sees the module itself come.
(() => {
  'use strict';
  const { timeline, realm, native, inWindow, listen, nextTask } = self.__clock;
  const { begin, end } = timeline.loads;
  const { called } = self.__clock;
  timeline.imports ??= createImports();
  const REPORTER = '//clock.invalid';
  // What has come already, or needs no request, is imported in tasks of the browser alone: before all else that settles.
  function createImports() {
    const imports = { any: false };
    timeline.settlers.unshift(async () => {
      if (imports.any) await native.postTask(() => {}, { priority: 'background' });
    });
    return imports;
  }

  const expected = new Map(); // address, or 'blob' -> reports to come of what is asked for here
  function ask(address, request) {
    expected.set(address, (expected.get(address) ?? 0) + 1);
    return request();
  }
  function isExpected(address) {
    const count = expected.get(address);
    if (count > 1) expected.set(address, count - 1);
    else expected.delete(address);
    return count > 0;
  }

  // A module has come when a second import, through the same map of modules, has: one that fails once all that the
  // module imports is there, and evaluates none of it, as that may await what takes virtual time.
  const moduleOf = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
  const importAfter = (address) => `import '${moduleOf('throw 0')}'; import ${JSON.stringify(address)}`;
  const { createObjectURL, revokeObjectURL } = URL;
  function importBlob() { // reports do not tell which: as long as another takes
    const address = createObjectURL.call(URL, new Blob([], { type: 'text/javascript' }));
    return ask('blob', () => import(address)).finally(() => revokeObjectURL.call(URL, address));
  }
  // Scripts of another kind are waited for by their elements, or stop all else.
  const isClassic = (address) =>
    inWindow && [...document.scripts].some((one) => one.src === address && one.type !== 'module');
  function awaitModule(address) {
    if (isClassic(address)) return;
    const key = {};
    timeline.imports.any = true;
    begin(key, realm);
    const came = address === 'blob' ? importBlob() : import(moduleOf(importAfter(address)));
    came.catch(() => {}).then(nextTask).then(() => end(key));
  }
  function awaitPicture(address) {
    if (document.readyState === 'complete') ask(address, () => { new Image().src = address; }); // loads.js waits for it
  }

  // Style sheets and JSON that scripts import are modules as well, which evaluate nothing. What fails to come is asked
  // for and reported each time, so that its own report must not ask once more; no socket can be imported.
  const coming = new Set(); // addresses
  function awaitData(address, type) {
    if (coming.has(address) || /^wss?:/.test(address)) return;
    const key = {};
    coming.add(address);
    begin(key, realm);
    import(address, { with: { type } }).catch(() => {}).then(nextTask).then(() => {
      coming.delete(address);
      end(key);
    });
  }

  listen(self, 'securitypolicyviolation', (event) => {
    const isOfClock = event.blockedURI.startsWith(TELLER); // moment.js
    if (!isOfClock && !event.originalPolicy.includes(REPORTER)) return;
    event.stopImmediatePropagation();
    if (isOfClock) return;
    const { blockedURI: address, effectiveDirective: directive } = event;
    const ofElement = self.__clock.reported?.(address);
    if (isExpected(address)) return;
    if (directive === 'img-src') awaitPicture(address);
    else if (directive === 'script-src-elem') awaitModule(address);
    else if (directive === 'style-src-elem' && !ofElement) awaitData(address, 'css');
    else if (directive === 'connect-src' && !ofElement && !called.has(address)) awaitData(address, 'json');
  }, true);
})();
