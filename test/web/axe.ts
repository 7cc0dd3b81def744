import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The rules of WCAG 2.2, A and AA. */
export const wcag = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** The violations of these rules, each with the first element that has it. `within` is a selector of the part to test. */
export async function findViolations(page: Page, rules = wcag, within = 'html'): Promise<[id: string, html: string][]> {
  // A page that is never reloaded keeps axe, which takes longer to load than to test most views.
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(axe)
  // The colours of something that is still appearing have too little contrast.
  await page.evaluate(`Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
    .map(({ finished }) => finished))`)
  const options = { runOnly: rules, resultTypes: ['violations'] }
  return page.evaluate(`axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => [id, nodes[0].html]))`)
}
