import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { compileMessage } from '@lingui/message-utils/compileMessage'
import { defineConfig, type Plugin } from 'vite'

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
      Object.entries(texts).map(([source, text]) => [source, compileMessage(text === '' ? source : text)]),
    )
    return { code: `export default ${JSON.stringify(compiled)}`, moduleType: 'js' }
  },
}

/** `[emoji, short names, search words]` of every emoji, in the order of Unicode: 40 KB compressed, loaded when first needed. */
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
    }[]
    const [github, others] = ['github', 'emojibase'].map(
      (set) => read(`shortcodes/${set}`) as Record<string, string | string[]>,
    )
    const shortNamesOf = (hexcode: string) => [...new Set([github![hexcode] ?? [], others![hexcode] ?? []].flat())]
    const list = all
      .filter(({ order, hexcode }) => order !== undefined && shortNamesOf(hexcode).length > 0)
      .sort((a, b) => a.order! - b.order!)
      .map(({ unicode, hexcode, label, tags = [] }) => [unicode, shortNamesOf(hexcode), [label, ...tags].join(' ')])
    return { code: `export default ${JSON.stringify(list)}`, moduleType: 'js' }
  },
}

export default defineConfig({
  root: join(service, 'page'),
  base: '/',
  publicDir: join(service, 'page/public'),
  resolve: {
    alias: { react: 'preact/compat', 'react-dom': 'preact/compat', 'react/jsx-runtime': 'preact/jsx-runtime' },
  },
  // `tsc` checks the types; esbuild's successor only removes them.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    // Preloading by script would be one more inline script; the browser finds the few chunks by itself.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  plugins: [compiledTexts, emojiList],
  logLevel: 'warn',
})
