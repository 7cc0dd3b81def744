/** `vite-build.ts <folder>` builds the page into a folder. It is a separate process, because Vite needs memory and its own NODE_ENV. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build, mergeConfig } from 'vite'
import { makeFirstScriptClassic } from './classic-script.ts'
import pageConfig, { workerConfig } from './vite-config.ts'

const outDir = process.argv[2]!
const into = (config: object) => build({ configFile: false, ...mergeConfig(config, { build: { outDir } }) })

await into(pageConfig)
const module = await makeFirstScriptClassic(outDir)
await into(workerConfig(await readBuiltFiles()))

/**
 * The service worker caches these files when it is installed: those that the page names, the module that later parts import, the Latin part of
 * the font, and the texts of all languages (37 KB compressed), so that the page has the person's language without a network too. Later it
 * caches all other scripts (200 KB compressed).
 */
async function readBuiltFiles() {
  const page = await readFile(join(outDir, 'index.html'), 'utf8')
  const assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file]) => file!)
  const built = await readdir(join(outDir, 'assets'))
  const named = (pattern: RegExp) => built.filter((name) => pattern.test(name)).map((name) => `/assets/${name}`)
  const more = named(/^([a-z]{2}|faces)-[\w-]+\.js$|^inter-latin-wght-normal-/)
  const files = ['/', '/icon.svg', '/icons/192.png', '/manifest.webmanifest', module, ...assets, ...more]
  const parts = named(/\.js$/).filter((file) => !files.includes(file))
  return { build: createHash('sha256').update(page).digest('base64url').slice(0, 16), files, parts }
}
