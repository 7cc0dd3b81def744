/** Builds the web client into the image, and removes its sources. Outside of the image, the first start builds it. */
import { rm } from 'node:fs/promises'
import { buildPage } from '@parley/web/build'

await buildPage()
for (const source of ['services/web/page', 'services/web/worker', 'tsconfig.base.json']) {
  await rm(new URL(`../../${source}`, import.meta.url), { recursive: true })
}
