/**
 * `node test/web/screenshots.ts [--out DIR] [--only VIEWS] [--look NAMES]` takes screenshots of every view of the web client, with a server
 * that is full of messages. Run it by hand to see the effect of a change of the styles. `--look all` adds languages and densities.
 */
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { launch } from '../src/launch.ts'
import { startChromium } from './chromium.ts'
import { png } from './pictures.ts'
import { type Look, looks, shootViews } from './views.ts'
import { fillWorkspace } from './workspace.ts'

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'screenshots' },
    only: { type: 'string' },
    look: { type: 'string', default: 'light,dark' },
  },
})
const site = createServer(({ url }, response) => {
  if (url === '/guide.png') response.setHeader('content-type', 'image/png').end(png(600, 400, [160, 60, 120]))
  else response.setHeader('content-type', 'text/html').end(guide)
})
const guide = `<!doctype html><title>How we draw icons</title><meta property="og:site_name" content="Northwind handbook">
  <meta property="og:description" content="Lines, ends and sizes of every icon, with drawings to begin from.">
  <meta property="og:image" content="/guide.png">`
site.listen(0, '127.0.0.1')
await once(site, 'listening')

await mkdir(values.out, { recursive: true })
const env = { PARLEY_INTEGRATIONS_ALLOWED_NETWORKS: '127.0.0.1' }
const [installation, browser] = await Promise.all([launch('solo', { env }), startChromium()])
try {
  const { port } = site.address() as AddressInfo
  const workspace = await fillWorkspace(installation.baseUrl, `http://127.0.0.1:${port}`)
  const chosen = values.look === 'all' ? Object.keys(looks) : values.look.split(',')
  for (const look of chosen as Look[]) {
    for (const width of ['wide', 'narrow'] as const) {
      await shootViews({
        browser,
        baseUrl: installation.baseUrl,
        workspace,
        out: values.out,
        width,
        look,
        ...(values.only && { only: values.only.split(',') }),
      })
    }
  }
} finally {
  await browser.close()
  await installation.discard()
  site.close()
}
