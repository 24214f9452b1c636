// A grid of colors, and a line for the digits of any other.
(() => {
  'use strict';
  const { timeline, controls } = self.__clock;
  const { surface } = timeline;
  const { tell } = controls;
  const HUES = [0, 30, 60, 90, 120, 180, 210, 240, 270, 300, 330], LIGHTS = [90, 80, 70, 60, 50, 40, 30, 20];
  const ACROSS = HUES.length + 1, CELL = 12;
  const STYLE = `main { padding: 4px; width: ${ACROSS * CELL + 10}px } .grid { display: flex; flex-wrap: wrap }
    .grid > * { width: ${CELL}px; height: ${CELL}px; border: 1px solid #fff }
    .grid > .chosen { border: 2px solid #000; outline: 1px solid #fff; outline-offset: -3px }
    .line { display: flex; gap: 6px; align-items: center; margin-top: 4px }
    .line > .shown { width: 36px; height: 18px; border: 1px solid #767676 }`;
  const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
  const hex = (numbers) => `#${numbers.map((one) => Math.round(one * 255).toString(16).padStart(2, '0')).join('')}`;
  function ofHue(hue, light) { // HSL of full saturation
    const chroma = Math.min(light, 100 - light) / 100;
    return hex([0, 8, 4].map((offset) => {
      const place = (offset + hue / 30) % 12;
      return light / 100 - chroma * Math.max(-1, Math.min(place - 3, 9 - place, 1));
    }));
  }
  const COLORS = LIGHTS.flatMap((light, row) => [
    hex(Array(3).fill(1 - row / (LIGHTS.length - 1))), ...HUES.map((hue) => ofHue(hue, light)),
  ]);

  function openColors(field) {
    const before = value.get.call(field);
    const colors = [...(field.list?.options ?? [])].map((one) => one.value).filter((one) => /^#[0-9a-f]{6}$/i.test(one));
    const all = [...colors, ...COLORS];
    let at = all.indexOf(before.toLowerCase()), typed = '', main, make;
    function choose(color) {
      surface.close();
      if (value.get.call(field) === color) return;
      value.set.call(field, color);
      tell(field, 'input', 'change');
    }
    function draw() {
      const cells = all.map((color, index) => {
        const cell = make('div', { at: index, className: index === at ? 'chosen' : '' });
        cell.style.background = color;
        return cell;
      });
      const sample = make('div', { className: 'shown' });
      sample.style.background = typed.length === 6 ? `#${typed}` : all[at] ?? before;
      const text = typed ? `#${typed.padEnd(6, '_')}` : all[at] ?? before;
      main.replaceChildren(make('div', { className: 'grid' }, ...cells),
        make('div', { className: 'line' }, sample, make('span', { textContent: text })));
    }
    const MOVES = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -ACROSS, ArrowDown: ACROSS };
    surface.open(field, {
      style: STYLE,
      build(element, maker) { [main, make] = [element, maker]; draw(); },
      mouse(type, cell, { button }) {
        if (type === 'mouseup' && button === 0 && cell) choose(all[Number(cell.dataset.at)].toLowerCase());
      },
      key({ key, ctrlKey, metaKey }) {
        if (key === 'Escape' || key === 'Tab' || key === 'F4') { surface.close(); return; }
        if (key === 'Enter' || key === ' ') { choose(typed.length === 6 ? `#${typed}` : all[at] ?? before); return; }
        if (/^[0-9a-f]$/i.test(key) && !ctrlKey && !metaKey) typed = (typed + key.toLowerCase()).slice(-6);
        else if (key === 'Backspace') typed = typed.slice(0, -1);
        else if (Object.hasOwn(MOVES, key)) { at = Math.max(0, Math.min(all.length - 1, Math.max(0, at) + MOVES[key])); typed = ''; }
        draw();
      },
    });
  }
  controls.openColors = openColors;
})();
