// What /v1/browser/page asks of a document: the elements that can be acted on and are seen, and one of them.
(() => {
  const INTERACTIVE = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [onclick], '
    + '[contenteditable]';
  const seen = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 && height > 0 && getComputedStyle(element).visibility === 'visible';
  };
  const all = () => [...document.querySelectorAll(INTERACTIVE)].filter(seen);
  const WORKS = {
    describe: () => all().map((element, index) => {
      const { x, y, width, height } = element.getBoundingClientRect();
      return {
        index, tag: element.tagName.toLowerCase(), type: element.type ?? null, role: element.getAttribute('role'),
        name: element.name ?? null, id: element.id, href: element.href ?? null, placeholder: element.placeholder ?? null,
        text: (element.innerText || element.value || element.getAttribute('aria-label') || '').trim().slice(0, 200),
        x, y, width, height,
      };
    }),
    find: (keyword) => document.body.innerText.split('\n').map((text, line) => ({ line, text }))
      .filter(({ text }) => text.toLowerCase().includes(keyword.toLowerCase())),
    state: (selector, state) => {
      const element = document.querySelector(selector);
      if (state === 'attached' || state === 'detached') return Boolean(element) === (state === 'attached');
      return Boolean(element && seen(element)) === (state === 'visible');
    },
  };
  const ON_ONE = {
    mark: (one) => { one.focus(); if (one.select) one.select(); else getSelection().selectAllChildren(one); },
    check: (one, wanted) => { if (one.checked !== wanted) one.click(); },
    show: (one) => one.scrollIntoView({ block: 'center', behavior: 'instant' }),
    middle: (one) => {
      one.scrollIntoView({ block: 'nearest', behavior: 'instant' });
      const rectangle = one.getClientRects()[0];
      return rectangle ? [rectangle.x + rectangle.width / 2, rectangle.y + rectangle.height / 2] : 'no visible element';
    },
    choose: (one, name, wanted) => {
      const option = [...one.options ?? []].find((each) => each[name] === wanted);
      if (!option) return 'no such option in';
      one.selectedIndex = option.index;
      for (const type of ['input', 'change']) one.dispatchEvent(new Event(type, { bubbles: true }));
      return null;
    },
  };
  return {
    ...WORKS,
    on(work, selector, index, ...values) {
      let one;
      try { one = selector === null ? all()[index] : document.querySelector(selector); } catch { return 'no selector'; }
      return one ? ON_ONE[work](one, ...values) ?? null : 'no element';
    },
  };
})()
