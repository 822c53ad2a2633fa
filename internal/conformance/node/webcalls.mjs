// What a user does with tasks, errors, load and logs of servers. See web.mjs.

export default ({ given, seen, page, context, go, text, tool, run, shoot, look, logged }) => {
  const button = (name, place = page) => place.getByRole('button', { name, exact: true });

  const serious = () => look(given.scenario);

  return {
    // hostileforms opens forms with which a server could keep the page busy. The page answers after each.
    async hostileforms() {
      seen.forms = {};
      for (const name of given.tools) {
        await tool(given.server, name);
        await page.waitForSelector('.detail .form');
        seen.forms[name] = await page.evaluate(() => ({ elements: document.querySelectorAll('.detail *').length,
          hint: document.querySelector('.form > .hint')?.innerText ?? '', json: document.querySelector('textarea.json').value.slice(0, 100) }));
      }
    },

    // hostileresults shows a result of which each part is large.
    async hostileresults() {
      page.setDefaultTimeout(60_000);
      await tool(given.server, 'results');
      await run();
      seen.elements = await page.evaluate(() => document.querySelectorAll('.result *').length);
      await page.evaluate(() => [...document.querySelectorAll('.result button')].find(one => one.innerText === '50 more').click());
      seen.more = await page.evaluate(() => document.querySelectorAll('.result tbody > tr').length);
    },

    // hostile edits such a form, and answers such questions, one of them after a reload.
    async hostile() {
      await tool(given.server, 'array');
      await page.locator('.form textarea').first().fill('{"a":[[],[]]}');
      seen.edited = await page.locator('textarea.json').inputValue();
      await tool(given.server, 'ask');
      seen.refused = await run();
      await tool(given.server, 'ask-flat');
      await button('Run').click();
      await page.waitForSelector('#questions .question textarea');
      await page.reload();
      await page.waitForSelector('#questions .question textarea');
      seen.question = await text('#questions .question .form');
      await button('Decline', page.locator('#questions')).click();
      await page.waitForFunction(() => document.querySelector('#questions')?.hidden);
    },

    async tasks() {
      const card = page.getByTestId('task').first();
      const status = want => page.waitForFunction(want => document.querySelector('[data-testid=task-status]')?.innerText === want, want);
      // a task that asks
      await tool(given.server, 'confirm_delete');
      await page.locator('.form').getByLabel('filename', { exact: true }).fill('a.txt');
      await button('Run as a task').click();
      await page.waitForSelector('#questions .question');
      await go('#/tasks');
      await status('input_required');
      seen.asking = await card.innerText();
      await button('Answer', card).click();
      await page.locator('#questions').getByRole('radiogroup', { name: 'confirm' }).getByText('true').click();
      await button('Send', page.locator('#questions')).click();
      await status('completed');
      await card.getByText('The object').click();
      await card.locator('.tree').first().waitFor();
      seen.object = await card.innerText();
      await button('Get the result', card).click();
      await card.locator('.result').waitFor();
      seen.result = await card.locator('.result').innerText();
      await serious();
      await page.setViewportSize({ width: 1280, height: 800 });
      await card.getByRole('link', { name: 'a call of confirm_delete' }).click();
      await page.waitForSelector('.detail .result');
      seen.call = await text('.detail .result');
      // a task that is cancelled
      await tool(given.server, 'slow_compute');
      await page.locator('.form').getByLabel('seconds', { exact: true }).fill('600');
      await button('Run as a task').click();
      await page.waitForFunction(() => /task \S+: /.test(document.querySelector('.progress')?.innerText ?? ''));
      await go('#/tasks');
      const working = page.getByTestId('task').filter({ hasText: 'working' });
      seen.working = await working.innerText();
      await button('Cancel the task', working).click();
      await page.getByTestId('task').filter({ hasText: 'cancelled' }).waitFor();
      // one that nobody here has called
      for (const id of given.others) {
        await page.getByText('Open a task by its id').click();
        await page.getByLabel('Id of the task').fill(id);
        await page.keyboard.press('Enter');
        const other = page.getByRole('region', { name: `Task ${id}` });
        await page.getByText('Open a task by its id').click();
        await other.getByRole('button', { name: /^(Wait for it|Get the result)$/ }).click();
        await other.locator('.result').waitFor();
        seen.other = await other.innerText();
      }
      await page.getByText('Open a task by its id').click();
      await page.getByLabel('Id of the task').fill('no-such-task');
      await page.keyboard.press('Enter');
      const unknown = page.getByRole('region', { name: 'Task no-such-task' });
      await unknown.locator('.problem').waitFor();
      seen.unknown = await unknown.innerText();
    },

    // Errors by what they are, and tools that others refuse.
    async errors() {
      seen.shown = {};
      for (const [name, error] of Object.entries(given.failures)) {
        await go('#/saved');
        await page.waitForSelector('nav a[aria-current][data-view=saved]');
        await go(`#/tools/${encodeURIComponent(given.server)}/error?args=${encodeURIComponent(JSON.stringify({ error }))}`);
        await page.waitForSelector('.detail .form');
        await run();
        seen.shown[name] = await text('.result .problem');
      }
      seen.hacked = await page.evaluate(() => document.querySelectorAll('.problem b').length);
      await serious();
      await page.setViewportSize({ width: 1280, height: 800 });
      await go('#/timeline?filter=' + encodeURIComponent('error'));
      await page.waitForSelector('.message');
      await page.locator('.message', { hasText: 'response' }).or(page.locator('.message', { hasText: '32021' })).first().click();
      await page.waitForSelector('.message-panel .problem');
      seen.message = await text('.message-panel .problem');
      await tool(given.server, 'not.portable');
      seen.badges = await page.locator('.detail .badge').allInnerTexts();
      await page.getByText(/^Portability: /).click();
      seen.portability = await text('.detail .portability');
      seen.findings1 = await page.locator('.detail .problem').allInnerTexts();
      await shoot('portability');
    },

    // Load tests that end by themselves, fail, and are stopped.
    async load() {
      const outcome = page.getByTestId('load');
      const start = async (name, calls) => {
        await tool(given.server, name);
        await page.locator('.detail h2', { hasText: new RegExp(`^${name}$`, 'i') }).waitFor();
        await page.getByText('Load test').click();
        await page.getByLabel('Calls', { exact: true }).fill(calls);
        await page.getByLabel('At the same time').fill('3');
        await button('Start').click();
      };
      await start('echo', '200');
      await outcome.getByText(/^Done/).waitFor();
      seen.done = await outcome.innerText();
      await serious();
      await page.setViewportSize({ width: 1280, height: 800 });
      await start('error', '5');
      await outcome.getByText(/^Done/).waitFor();
      seen.failed = await outcome.innerText();
      await page.getByLabel('Calls', { exact: true }).fill('1000000');
      await button('Start').click();
      await outcome.locator('.problem').waitFor();
      seen.refused = await outcome.innerText();
      await start('slow', '5');
      await outcome.getByText(/^running/).waitFor();
      await button('Stop').click();
      await outcome.getByText(/^Stopped/).waitFor();
      await button('Start').click();
      await outcome.getByText(/^running,/).waitFor();
      await tool(given.server, 'release'); // the panel is closed, and so the load test
      seen.released = await run();
    },

    // Log messages, filtered; and the HTTP request of a message.
    async logs() {
      await go('#/servers');
      await page.getByRole('button', { name: /^More for/ }).click();
      await page.getByRole('menuitem', { name: 'Log level' }).click();
      await page.getByRole('button', { name: 'debug', exact: true }).click();
      await page.getByText('It logs from debug on.').waitFor();
      await tool(given.server, 'test_tool_with_logging');
      await run();
      await go('#/logs');
      const lines = page.getByTestId('logs').locator('> li');
      await page.waitForFunction(() => document.querySelectorAll('[data-testid=logs] > li').length >= 3);
      seen.all = await lines.allInnerTexts();
      await page.getByLabel('Text', { exact: true }).fill('PROCESSING');
      await page.waitForFunction(() => document.querySelectorAll('[data-testid=logs] > li').length === 1);
      seen.text = await lines.allInnerTexts();
      await page.getByLabel('Text', { exact: true }).fill('');
      await page.getByLabel('Level at least').selectOption('error');
      await page.getByText('No such messages').waitFor();
      await page.getByLabel('Level at least').selectOption('');
      await page.getByLabel('Logger', { exact: true }).fill('no such logger');
      await page.getByText('No such messages').waitFor();
      await page.getByLabel('Logger', { exact: true }).fill('');
      await page.waitForFunction(() => document.querySelectorAll('[data-testid=logs] > li').length >= 3);
      await serious();
      await page.setViewportSize({ width: 1280, height: 800 });
      await lines.first().locator('summary').click();
      await lines.first().getByRole('link', { name: 'on the timeline' }).click();
      await page.waitForSelector('.message-panel .tree');
      seen.message = await text('.message-panel h3');
    },

    // HTTP requests, with those that carry no message.
    async network() {
      await tool(given.server, 'test_simple_text');
      await run();
      await go('#/network');
      const lines = page.getByTestId('network').locator('> li');
      await lines.filter({ hasText: '200 OK' }).first().waitFor();
      seen.lines = await lines.allInnerTexts();
      await page.waitForFunction(() => document.querySelectorAll('[data-testid=network] > li').length > 0);
      for (const one of (await lines.filter({ hasText: 'POST' }).all()).slice(0, 1)) {
        await one.locator('summary').click();
        await one.getByText('Body of the request').waitFor();
        seen.open = await one.innerText();
      }
      await serious();
    },

    // HTML as text, and in a frame that can do nothing; a PDF to save.
    async documents() {
      await tool(given.server, 'documents');
      seen.text = await run();
      seen.frames = await page.locator('.result iframe').count();
      const stopped = new Set(); // what the browser has not sent because of the policy
      context.on('requestfailed', request => {
        if (request.failure().errorText === 'csp') stopped.add(request.url());
      });
      await button('Preview').click();
      const frame = page.frameLocator('.result iframe');
      await frame.locator('h1').waitFor();
      const src = await page.locator('.result iframe').getAttribute('src');
      seen.other = new URL(src).origin !== new URL(page.url()).origin;
      await logged(/Refused to execute the redirect/);
      seen.shown = await frame.locator('#p').innerText();
      await shoot('preview');
      const followed = { predicate: message => /directive: "frame-src http:/.test(message.text()), timeout: 2000 };
      let blocked;
      do { // a loaded browser loses clicks in a new frame
        [blocked] = await Promise.all([page.waitForEvent('console', followed).catch(() => false), frame.locator('#a').click()]);
      } while (!blocked);
      seen.elsewhere = seen.elsewhere.filter(one => new URL(one).origin !== new URL(src).origin && !stopped.has(one));
      const [file] = await Promise.all([page.waitForEvent('download'), button('Save').last().click()]);
      seen.file = file.suggestedFilename();
      // nobody else can look at it
      seen.alone = (await context.request.get(src, { headers: { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Dest': 'document' } })).status();
      await serious();
      // the browser repeats what it has logged of a frame when another process shows it
      const refused = /Content Security Policy|sandboxed|Blocked|blocked/;
      seen.blocked = seen.errors.filter(one => refused.test(one)).length;
      seen.errors = seen.errors.filter(one => !refused.test(one));
    },
  };
};
