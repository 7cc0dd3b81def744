import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { compileMessage } from '@lingui/message-utils/compileMessage'
import { defineConfig, type Plugin, type Rolldown } from 'vite'
import { fontFaces } from './font-faces.ts'

/** The addresses that the service worker keeps, and a name of the build. */
interface Shell {
  build: string
  files: string[]
}

const service = join(import.meta.dirname, '..')
const require = createRequire(import.meta.url)

/** Texts are compiled when the page is built, so that the page carries no parser of the message format. */
const compiledTexts: Plugin = {
  name: 'compiled-texts',
  enforce: 'pre',
  load(id) {
    if (!/\/texts\/[a-z]{2}\.json$/.test(id)) return null
    const texts = JSON.parse(readFileSync(id, 'utf8')) as Record<string, string>
    const compiled = Object.fromEntries(
      Object.entries(texts)
        .map(([source, text]) => [source, compileMessage(text === '' ? source : text)] as const)
        // An English text without values is what the page asks for already.
        .filter(([source, parts]) => parts.length !== 1 || parts[0] !== source),
    )
    return { code: `export default ${JSON.stringify(compiled)}`, moduleType: 'js' }
  },
}

/** Vite's helper, which preloads what a part imports, works only in a module. The browser finds the few parts by itself. */
const noPreload: Plugin = {
  name: 'no-preload',
  enforce: 'pre',
  load: (id) => (id === '\0vite/preload-helper.js' ? 'export const __vitePreload = (load) => load()' : null),
}

/** What stands behind the first character of an emoji for a light skin, as Unicode has it. */
const lightSkin = '\u{1f3fb}'

/**
 * `[emoji, short names, search words, number of the category, whether it has skin tones]` of every emoji, in the order of Unicode: 40 KB
 * compressed, loaded when first needed.
 */
const emojiList: Plugin = {
  name: 'emoji-list',
  resolveId: (id) => (id === 'virtual:emoji' ? '\0emoji' : null),
  load(id) {
    if (id !== '\0emoji') return null
    const read = (name: string) => JSON.parse(readFileSync(require.resolve(`emojibase-data/en/${name}.json`), 'utf8'))
    const all = read('compact') as {
      unicode: string
      hexcode: string
      order?: number
      label: string
      tags?: string[]
      group?: number
      skins?: { unicode: string }[]
    }[]
    const [github, others] = ['github', 'emojibase'].map(
      (set) => read(`shortcodes/${set}`) as Record<string, string | string[]>,
    )
    const shortNamesOf = (hexcode: string) => [...new Set([github![hexcode] ?? [], others![hexcode] ?? []].flat())]
    const list = all
      .filter(({ order, hexcode }) => order !== undefined && shortNamesOf(hexcode).length > 0)
      .sort((a, b) => a.order! - b.order!)
      .map(({ unicode, hexcode, label, tags = [], group = 0, skins = [] }) => {
        const [first = '', ...rest] = unicode
        const light = `${first}${lightSkin}${rest.join('').replace(/^\ufe0f/, '')}`
        const words = [label, ...tags].join(' ')
        return [unicode, shortNamesOf(hexcode), words, group, skins[0]?.unicode === light ? 1 : 0]
      })
    return { code: `export default ${JSON.stringify(list)}`, moduleType: 'js' }
  },
}

/** Everything that the first view needs is one file; the bundler alone would make parts of what later parts need as well. */
const nameFirst: Rolldown.CodeSplittingNameFunction = (id, graph) => {
  const first = new Set([join(service, 'page/main.tsx')])
  for (const module of first) for (const imported of graph.getModuleInfo(module)?.importedIds ?? []) first.add(imported)
  return first.has(id) ? 'index' : null
}

export default defineConfig({
  root: join(service, 'page'),
  base: '/',
  publicDir: join(service, 'page/public'),
  // `tsc` checks the types; esbuild's successor only removes them.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    // These browsers support `:dir()`. For older ones Vite replaces it by `:lang()`, which ignores a text's own
    // direction.
    cssTarget: ['chrome120', 'firefox115', 'safari16.4'],
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: nameFirst, debugName: 'first view' }] } } },
  },
  plugins: [compiledTexts, emojiList, fontFaces, noPreload],
  logLevel: 'warn',
})

/** The service worker: one script beside the page, at an address that stays the same. */
export const workerConfig = (shell: Shell) =>
  defineConfig({
    root: join(service, 'worker'),
    publicDir: false,
    define: { SHELL: JSON.stringify(shell) },
    build: {
      target: 'es2023',
      emptyOutDir: false,
      reportCompressedSize: false,
      rolldownOptions: {
        input: join(service, 'worker/worker.ts'),
        output: { format: 'iife', entryFileNames: 'worker.js' },
      },
    },
    logLevel: 'warn',
  })
