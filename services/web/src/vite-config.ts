import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileMessage } from '@lingui/message-utils/compileMessage'
import { defineConfig, type Plugin, type Rolldown } from 'vite'
import { plainParts } from '../page/texts/plain-parts.ts'
import type { BuiltFiles } from '../worker/built-files.ts'
import { emojiList } from './emoji-list.ts'
import { fontFaces } from './font-faces.ts'

/**
 * The oldest browsers that the page supports: README.md of this service says why. For older ones Vite would rewrite parts of the styles,
 * not always correctly: `:dir()` would become `:lang()`, which ignores the direction of a single text.
 */
const oldestBrowsers = ['chrome123', 'firefox128', 'safari17.5']

const service = join(import.meta.dirname, '..')

/** Compiles the texts and the sentences of the server during the build, so that the page needs no parser of the message format. */
const compiledTexts: Plugin = {
  name: 'compiled-texts',
  enforce: 'pre',
  load(id) {
    if (!/\/texts\/(?:server\/)?[a-z]{2}\.json$/.test(id)) return null
    const texts = JSON.parse(readFileSync(id, 'utf8')) as Record<string, string>
    const compiled = Object.fromEntries(
      Object.entries(texts)
        .map(([source, text]) => [source, compileMessage(text === '' ? source : text)] as const)
        // The page compiles these texts from their keys.
        .filter(([source, parts]) => JSON.stringify(parts) !== JSON.stringify(plainParts(source))),
    )
    return { code: `export default ${JSON.stringify(compiled)}`, moduleType: 'js' }
  },
}

/** Removes Vite's preload helper, because it works only in modules. The browser loads the few imports of a part without it. */
const noPreload: Plugin = {
  name: 'no-preload',
  enforce: 'pre',
  load: (id) => (id === '\0vite/preload-helper.js' ? 'export const __vitePreload = (load) => load()' : null),
}

/** Loads each part of the page with `importPart` of `page/app/import-part.ts`, which can repeat it. */
const retriedImports: Plugin = {
  name: 'retried-imports',
  renderChunk: (code) => code.replaceAll(/\bimport\((["'`]\.\/[^"'`]+["'`])\)/g, 'parleyImport($1,()=>import($1))'),
}

/** Puts everything that the first view needs into one file. By default the bundler would split off code that later parts share. */
const nameFirst: Rolldown.CodeSplittingNameFunction = (id, graph) => {
  const first = new Set([join(service, 'page/main.tsx')])
  for (const module of first) for (const imported of graph.getModuleInfo(module)?.importedIds ?? []) first.add(imported)
  return first.has(id) ? 'index' : null
}

export default defineConfig({
  root: join(service, 'page'),
  base: '/',
  publicDir: join(service, 'page/public'),
  // Oxc only removes the types. `tsc` checks them.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: oldestBrowsers,
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: nameFirst, debugName: 'first view' }] } } },
  },
  plugins: [compiledTexts, emojiList, fontFaces, noPreload, retriedImports],
  logLevel: 'warn',
})

/** The build of the service worker: one script, whose address never changes. */
export const workerConfig = (builtFiles: BuiltFiles) =>
  defineConfig({
    root: join(service, 'worker'),
    publicDir: false,
    define: { BUILT_FILES: JSON.stringify(builtFiles) },
    build: {
      target: oldestBrowsers,
      emptyOutDir: false,
      reportCompressedSize: false,
      rolldownOptions: {
        input: join(service, 'worker/worker.ts'),
        output: { format: 'iife', entryFileNames: 'worker.js' },
      },
    },
    logLevel: 'warn',
  })
