// The latest messages, beside any view.
import { element, replace } from './dom.js';
import { all, failed, listen, start } from './messages.js';

const shown = 60; // messages

// monitor returns a function that shows or hides the latest messages in place.
export function monitor(place, toggle) {
  const list = element('ol', { class: 'items', 'aria-label': 'Latest messages', 'data-testid': 'monitor' });
  const update = () => replace(list, all.slice(-shown).reverse().map(message => element('li', {},
    element('a', { href: `#/timeline/${message.n}`, class: failed(message) ? 'bad' : '' },
      `${message.from === 'client' ? '→' : '←'} ${message.kind === 'response' ? '↳ ' : ''}${message.method ?? message.kind} `,
      element('span', { class: 'muted' }, [message.lane, message.about, message.failed].filter(Boolean).join(' · '))))));
  replace(place, element('h2', {}, 'Latest messages'), list);
  let end;
  return () => {
    place.hidden = !place.hidden;
    toggle.setAttribute('aria-pressed', String(!place.hidden));
    localStorage.setItem('stdwire monitor', place.hidden ? '' : 'on');
    end?.();
    end = undefined;
    if (place.hidden) return;
    end = listen(update);
    start();
    update();
  };
}
