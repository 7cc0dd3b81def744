import { whyNoChromium } from '../web/chromium.ts'
import { type Row, skippedRow } from './report.ts'
import type { Scene } from './scene.ts'
import type { Stores } from './stores.ts'
import { measureHeap, measureHostile } from './web-burdens.ts'
import { openAs } from './web-pages.ts'
import { measureDrift, measureWheel } from './web-scrolling.ts'
import { prepareWebStage } from './web-stage.ts'
import { measureStarts } from './web-starts.ts'
import { measureSwitches, measureTabs } from './web-switching.ts'
import { measurePixels, measureTyping } from './web-typing.ts'

/**
 * Measures the web client in a browser with a slow processor, compared with a plain document with the same messages.
 */
export async function measureWeb(scene: Scene, stores: Stores): Promise<Row[]> {
  if (whyNoChromium !== null)
    return [skippedRow('web', 'the web client in Chromium', 'a plain document', '–', whyNoChromium)]
  const stage = await prepareWebStage(scene, stores)
  const rows: Row[] = []
  /** A measurement that fails gets a row with the reason, so that the other figures are not lost. */
  const add = async (work: string, measure: () => Promise<Row | Row[]>) => {
    const measured = await measure().catch((error: Error) => skippedRow('web', work, '–', '–', error.message))
    for (const row of [measured].flat()) {
      rows.push(row)
      process.stderr.write(`  ${row.work}: ${row.ours}; ${row.theirs}\n`)
    }
  }
  await add('starts', () => measureStarts(stage))
  await add('typing', () => measureTyping(scene, stage))
  const opened = await openAs(stage.browser, stage.baseUrl, stage.reader)
  await add('switching', () => measureSwitches(stage, opened))
  await add('from a post to pixels', () => measurePixels(stage, opened))
  await add('wheel', () => measureWheel(stage, opened))
  await add('tabs', () => measureTabs(stage, opened))
  await opened.context.close()
  await add('drift', () => measureDrift(stage))
  await add('hostile messages', () => measureHostile(stage))
  await add('heap', () => measureHeap(stage))
  return rows
}
