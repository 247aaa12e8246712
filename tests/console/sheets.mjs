// For people to look at (`make console-sheets`): a page as it stands at three widths, in both
// colours, on one picture in the folder SHEETS.
import { mkdirSync, writeFileSync } from 'node:fs';

const sheet_sizes = [
  { width: 360, height: 740, shown: 300 },
  { width: 1280, height: 800, shown: 620 },
  { width: 2560, height: 1440, shown: 860 },
];
let sheets = 0;

// `settled(page)` waits until the page is still.
export async function draw_sheet(browser, page, settled, what) {
  const before = page.viewportSize();
  const rows = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const { shown, ...size } of sheet_sizes) {
      await page.setViewportSize(size);
      await settled(page).catch(() => {}); // a run may go on
      const taken = await page.screenshot({
        fullPage: true,
        animations: 'disabled',
        caret: 'hide',
      });
      const source = `data:image/png;base64,${taken.toString('base64')}`;
      rows.push(`<div><img width=${shown} src="${source}"></div>`);
    }
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(before);
  const sheet = await browser.newPage({ viewport: { width: 1810, height: 100 } });
  await sheet.setContent(
    `<style>
      body { margin: 5px; background: #888; display: grid; gap: 5px; align-items: start;
        grid: auto-flow max-content / repeat(3, auto); }
      div { max-height: 1400px; overflow: hidden; }
      img { display: block; }
    </style>${rows.join('')}`,
  );
  mkdirSync(process.env.SHEETS, { recursive: true });
  const number = String(++sheets).padStart(3, '0');
  const name = `${process.pid}-${number} ${what}`.replace(/[^\w .-]/g, '_').slice(0, 80);
  writeFileSync(`${process.env.SHEETS}/${name}.png`, await sheet.screenshot({ fullPage: true }));
  await sheet.close();
}
