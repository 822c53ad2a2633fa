// What a user does with the apps and skills of servers. See web.mjs.
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';

export default ({ given, seen, page, context, go, text, tool, run, shoot, logged }) => {
  const frame = () => page.frameLocator('iframe.app').frameLocator('iframe');
  const inApp = selector => frame().locator(selector);
  // click does not go by the pointer: a loaded browser loses clicks in a frame that it has just laid out.
  const click = name => frame().getByRole('button', { name, exact: true }).dispatchEvent('click');
  const button = name => page.getByRole('button', { name, exact: true });
  const log = () => page.locator('.app-log').innerText();

  // sandboxed waits for a frame, and says where it is from. What it fetches there, or will, is no surprise.
  async function sandboxed() {
    const url = new URL(await page.locator('iframe.app').getAttribute('src'));
    seen.sandboxes.push(url.origin);
    seen.elsewhere = seen.elsewhere.filter(one => new URL(one).origin !== url.origin);
    return url;
  }

  // serious returns what axe finds in the page, at two sizes, and what is wider than the page.
  async function serious() {
    const found = [];
    for (const [width, height] of [[360, 740], [1280, 800]]) {
      await page.setViewportSize({ width, height });
      found.push(...await examine());
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) found.push(`${width}: ${over} too wide`);
      await shoot(`${given.scenario}-${width}`);
    }
    return found;
  }

  async function examine() {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    const session = await context.newCDPSession(page);
    await session.send('Runtime.evaluate', { expression: axe });
    const { result } = await session.send('Runtime.evaluate', { awaitPromise: true, returnByValue: true,
      expression: `axe.run({ exclude: ['iframe'] }, { resultTypes: ['violations'], iframes: false }).then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')))` });
    return result.value;
  }

  // agree shows each app that asks for nothing, whenever the page describes one.
  async function agree() {
    const watch = () => new MutationObserver(() => document.querySelector('[data-plain=true] button')?.click())
      .observe(document, { subtree: true, childList: true });
    await page.addInitScript(watch);
    await page.evaluate(watch);
  }

  const scenarios = {
    // The app of stdwire's own tool.
    async own() {
      await tool(given.server, 'fs_list');
      seen.badges = await page.locator('.detail .badge').allInnerTexts();
      await run();
      await inApp('li').first().waitFor();
      await sandboxed();
      seen.listed = await inApp('main').innerText();
      const directory = inApp('button[aria-expanded]').first();
      do await directory.click(); // see click
      while (await directory.getAttribute('aria-expanded') === 'false');
      await inApp('ul ul li').first().waitFor();
      seen.opened = await inApp('main').innerText();
      await page.getByText('What the model would know').click();
      seen.told = await text('.app-node details');
      await shoot('app');
      seen.findings = await serious();
      // a page that is reloaded shows the same
      await page.reload();
      await page.waitForSelector('body[data-ready=yes]');
      await inApp('li').first().waitFor();
      await sandboxed();
      const messages = page.getByRole('link', { name: 'Its messages' });
      do await messages.click(); // see click
      while (!await page.evaluate(() => location.hash.startsWith('#/timeline')));
      await page.waitForSelector('.message');
      await page.waitForFunction(() => [...document.querySelectorAll('.message')].some(one => one.innerText.includes('tool-result')));
      seen.messages = await page.locator('.message').allInnerTexts();
    },

    // A server that hears of no apps offers none.
    async extension() {
      await tool(given.server, 'fs_list');
      seen.before = await page.locator('.detail .badge', { hasText: 'app' }).count();
      await go('#/servers');
      await page.getByText('Extensions', { exact: true }).click();
      await page.getByLabel('io.modelcontextprotocol/ui').uncheck();
      await tool(given.server, 'fs_list');
      await page.waitForFunction(() => ![...document.querySelectorAll('.detail .badge')].some(one => one.innerText === 'app'));
      await run();
      seen.frames = await page.locator('iframe').count();
      await go('#/servers');
      await page.getByText('Extensions', { exact: true }).click();
      seen.checked = await page.getByLabel('io.modelcontextprotocol/ui').isChecked();
      seen.findings = await serious();
      await page.getByLabel('io.modelcontextprotocol/ui').check();
      await tool(given.server, 'fs_list');
      await page.locator('.detail .badge', { hasText: 'app' }).waitFor();
    },

    // All that an app may ask of the page.
    async polite() {
      await tool(given.server, 'show');
      await page.locator('.form').getByLabel('text', { exact: true }).fill('typed');
      await run();
      if (given.asks) {
        seen.badges = await page.locator('.items a', { hasText: 'refresh' }).locator('.badge').allInnerTexts();
        await page.getByText('This tool has an app').waitFor();
        seen.consent = await text('.app-box');
        seen.before = await page.locator('iframe').count();
        await page.getByLabel('camera').check();
        await button('Show the app').click();
      }
      await inApp('p', { hasText: 'result' }).first().waitFor();
      await sandboxed();
      const says = async (part, count = 1) => {
        await inApp(`#seen p:has-text(${JSON.stringify(part)}) >> nth=${count - 1}`).waitFor();
      };
      await says('result');
      seen.heard = await inApp('#seen p').allInnerTexts();
      seen.allow = await page.locator('iframe.app').getAttribute('allow');
      seen.height = await page.locator('iframe.app').evaluate(node => node.clientHeight);
      const answered = () => page.waitForFunction(() => document.querySelector('#questions')?.hidden); // the next question is another
      await click('call');
      await says('refreshed');
      await click('destroy');
      await page.locator('.question').waitFor();
      seen.destroys = await text('.question');
      await page.locator('.question').getByRole('button', { name: 'Refuse' }).click();
      await says('refused the user');
      await answered();
      await click('destroy');
      await page.locator('.question').getByRole('button', { name: 'Call' }).click();
      await says('destroyed');
      await answered();
      await click('secret');
      await says('refused', 2);
      await click('read');
      await says('answer 1');
      await click('ping');
      await says('answer {}');
      await click('say');
      await page.locator('.app-log', { hasText: 'hello, model' }).waitFor();
      await click('tell');
      await page.getByText('What the model would know').click();
      await page.locator('.app-node details', { hasText: 'the user has seen it' }).waitFor();
      await click('log');
      await page.locator('.app-log', { hasText: 'warning' }).waitFor();
      seen.log = await log();
      await click('open');
      await page.locator('.question').waitFor();
      seen.link = await text('.question');
      await page.locator('.question').getByRole('button', { name: 'Refuse' }).click();
      await says('refused the user', 2);
      await answered();
      await click('open');
      await page.locator('.question').waitFor();
      const [popup] = await Promise.all([context.waitForEvent('page'), page.locator('.question').getByRole('button', { name: 'Open' }).click()]);
      seen.opener = await popup.evaluate(() => window.opener === null).catch(() => true);
      await popup.close();
      seen.elsewhere = seen.elsewhere.filter(one => one !== 'https://example.com/docs');
      seen.refused = await text('.app-node > .hint');
      await click('corner');
      await says('answer {"mode":"inline"}');
      const mode = page.getByLabel('Display mode');
      seen.modes = await mode.locator('option:not([disabled])').allInnerTexts();
      await click('late'); // without a gesture
      await page.locator('.app-log', { hasText: 'the full screen' }).waitFor();
      await says('answer {"mode":"inline"}', 2);
      const full = frame().getByRole('button', { name: 'full', exact: true });
      do await full.click(); // see click
      while (await page.locator('[data-mode=fullscreen]').waitFor({ timeout: 3000 }).then(() => false, () => true));
      await click('corner');
      await says('answer {"mode":"fullscreen"}', 2);
      await mode.selectOption('In the page');
      await says('"displayMode":"inline"');
      await page.locator('#theme').click();
      await says('"theme":"dark"');
      await shoot('app-dark');
      seen.findings = await serious();
      await button('Close the app').click();
      await page.waitForFunction(() => document.querySelectorAll('iframe').length === 0);
      await go('#/timeline?filter=teardown');
      await page.locator('.message', { hasText: 'ui/resource-teardown' }).first().waitFor();
      seen.last = await page.locator('.message').allInnerTexts();
    },

    // An app that is shown before its call, at all sizes.
    async staged() {
      await tool(given.server, 'show');
      await page.locator('.form').getByLabel('text', { exact: true }).fill('abcdefgh');
      await button('Stage the input').click();
      const lines = () => inApp('#seen p').allInnerTexts();
      // last waits until the app has said something, and returns the latest line that begins so.
      const last = async (what, part = '') => {
        await inApp('#seen').locator(`xpath=p[starts-with(., '${what}') and contains(., '${part}')]`).last().waitFor();
        return (await lines()).filter(line => line.startsWith(what)).at(-1);
      };
      // An app that is replaced may take leave for a moment, also before the next one is there.
      const alone = () => page.waitForFunction(() => {
        const all = document.querySelectorAll('iframe.app');
        return all.length === 1 && all[0].checkVisibility();
      });
      seen.first = await last('place');
      await sandboxed();
      const written = page.getByLabel('Arguments written so far');
      for (const percent of ['25', '60', '100']) {
        await written.fill(percent);
        seen[`at ${percent}`] = await last('partial', { 25: '{}', 60: 'ab', 100: 'abcdefgh' }[percent]);
      }
      seen.findings = await serious();
      const real = () => page.locator('iframe.app').evaluate(node => [node.clientWidth, node.clientHeight]);
      const mode = page.getByLabel('Display mode');
      const size = page.getByLabel('Size', { exact: true });
      seen.sizes = {};
      for (const name of ['360 wide', '360 × 640', 'As it fits']) {
        await size.selectOption(name);
        await last('place', name === 'As it fits' ? 'maxHeight' : '"width":360');
        if (name.includes('×')) await last('place', '"height":640');
        if (name === 'As it fits') await page.waitForFunction(() => document.querySelector('iframe.app')?.clientWidth > 360);
        seen.sizes[name] = await real();
      }
      for (const name of ['In a corner', 'Full screen']) {
        await mode.selectOption(name);
        await last('place', name === 'Full screen' ? '"displayMode":"fullscreen"' : '"displayMode":"pip"');
        await page.waitForFunction(() => document.querySelector('.app-node').dataset.mode !== 'inline');
        seen.findings.push(...await serious());
        const [width, height] = await real();
        await last('place', `"width":${width},"height":${height}`);
      }
      // the app asks
      for (const [ask, becomes] of [['sideways', 'fullscreen'], ['pip', 'pip'], ['inline', 'inline']]) {
        await click(ask);
        await last('mode', becomes);
        seen.shown = [...seen.shown ?? [], await page.locator('.app-node').getAttribute('data-mode')];
      }
      // the window changes
      await page.setViewportSize({ width: 900, height: 700 });
      const [width] = await real();
      await last('place', `"width":${width},"maxHeight"`);
      await run();
      await alone();
      await last('result');
      seen.told = (await lines()).filter(line => /^(partial|input|result)/.test(line)).slice(-3);
      seen.frames = await page.locator('iframe.app').count();
      seen.sliders = await written.count();
      // the next call has a frame of its own, and so has another stage
      await run();
      await alone();
      await last('result');
      seen.next = (await lines()).filter(line => /^(partial|input|result)/.test(line));
      await button('Stage the input').click();
      await written.fill('60');
      await alone();
      await last('partial', 'ab');
      await sandboxed();
      await button('Close the app').click();
      await page.waitForFunction(() => document.querySelectorAll('iframe').length === 0);
    },

    // A call that is cancelled while its app is shown.
    async cancelled() {
      await tool(given.server, 'block');
      await button('Run').click();
      await inApp('#seen p', { hasText: 'hello' }).first().waitFor();
      await sandboxed();
      await button('Cancel').click();
      await inApp('#seen p:has-text("cancelled")').waitFor();
      seen.heard = await inApp('#seen p').allInnerTexts();
      // another view ends the app
      await go('#/servers');
      await page.waitForFunction(() => document.querySelectorAll('iframe').length === 0);
    },

    // The app of another's server.
    async real() {
      await go(`#/tools/${encodeURIComponent(given.server)}`);
      await page.locator('.items .name').first().waitFor();
      await page.locator('.items a', { has: page.locator('.badge', { hasText: 'app' }) }).first().waitFor();
      await tool(given.server, given.tool);
      await run();
      await page.locator('iframe.app').waitFor();
      await sandboxed();
      await inApp('body').waitFor();
      // the app ends when its page shows another view, whether it has heard of its call or not
      const tab = await context.newPage();
      await tab.goto(new URL('/#/timeline', page.url()).href);
      await tab.getByLabel('Filter').fill(`server:${given.server}/app`);
      await tab.locator('.message', { hasText: 'tool-result' }).first().waitFor();
      seen.messages = (await tab.locator('.message').allInnerTexts()).join('\n');
    },

    async hostile() {
      seen.tried = {};
      const start = async () => {
        await tool(given.server, 'show');
        await run();
        await page.locator('.app-log', { hasText: 'done' }).waitFor();
        await sandboxed();
      };
      await start();
      await page.getByText('What the model would know').click();
      seen.tried = JSON.parse(await page.evaluate(() => {
        const tree = document.querySelector('.app-node details .tree');
        return JSON.stringify(Object.fromEntries([...tree.children].map(item => {
          const [name, ...rest] = item.innerText.split(': ');
          return [name, JSON.parse(rest.join(': '))];
        })));
      }));
      seen.log = await log();
      seen.hacked = await page.evaluate(() => document.body.dataset.hacked ?? 'no');
      seen.height = await page.locator('iframe.app').evaluate(node => node.clientHeight);
      await click('leave');
      await logged(/directive: "frame-src 'none'"/);
      seen.left = page.frames().map(one => one.url()).filter(url => url.includes('?left'));
      for (const name of ['flood', 'large']) {
        await go('#/tools'); // the app does not answer that it may be removed
        await page.waitForFunction(() => document.querySelectorAll('iframe').length === 0);
        await start();
        await click(name);
        await page.locator('.app-node .problem').waitFor();
        seen[name] = await text('.app-node .problem');
        seen[`${name} frames`] = await page.locator('iframe').count();
      }
      // the page is as it was
      await tool(given.server, 'secret');
      seen.after = await run();
      await page.locator('.app-log', { hasText: 'done' }).waitFor();
      await sandboxed();
      // what the browser refused the app is no error of the page
      seen.errors = seen.errors.filter(one => !/Content Security Policy|sandboxed/.test(one));
    },

    async skills() {
      const list = async () => {
        await go(`#/skills/${encodeURIComponent(given.server)}`);
        await page.waitForSelector('.items a');
      };
      await list();
      seen.skills = await page.locator('.items .name').allInnerTexts();
      await page.locator('.items a', { hasText: given.skill }).click();
      await page.getByRole('button', { name: 'Verify all' }).waitFor();
      seen.front = await text('.detail');
      await button('Verify all').click();
      await page.locator('[role=status]', { hasText: 'files verified' }).waitFor();
      await page.waitForFunction(() => document.querySelector('.detail')?.innerText.match(/(\d+) of (\d+) files verified/)?.slice(1).every((n, _, all) => n === all[0]));
      seen.all = await page.locator('p[role=status]').innerText();
      await page.getByRole('button', { name: 'Show SKILL.md', exact: true }).click();
      await page.locator('.resource').waitFor();
      seen.content = await text('.resource');
      await shoot('skill');
      seen.findings = await serious();
    },

    // A skill whose server changes a file, and one whose entry is malformed.
    async badskills() {
      const open = async name => {
        await go(`#/skills/${encodeURIComponent(given.server)}`);
        await page.locator('.items a', { hasText: name }).click();
        await page.locator('.detail h2', { hasText: name }).waitFor();
        await page.locator('tbody tr').first().waitFor();
      };
      await open('lying');
      await button('Verify all').click();
      await page.locator('p[role=status]', { hasText: '1 of 2 files verified' }).waitFor();
      await page.locator('td .bad').waitFor();
      seen.lying = await text('tbody');
      await page.getByRole('button', { name: 'Show b.txt', exact: true }).click();
      await page.getByText('is not shown').waitFor();
      seen.changed = await text('.detail');
      await open('another');
      seen.malformed = await text('.detail');
      seen.verify = await page.getByRole('button', { name: 'Verify all' }).count();
    },
  };
  return Object.fromEntries(Object.entries(scenarios).map(([name, run]) => [name, async () => {
    if (!given.asks) await agree();
    await run();
  }]));
};
