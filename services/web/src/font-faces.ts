import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Plugin } from 'vite'

const require = createRequire(import.meta.url)
const folderOf = (name: string) => dirname(require.resolve(`${name}/package.json`))

/** A part of a font: its file, its characters in the syntax of `unicode-range`, and its style. */
type Part = [file: string, range: string, style: 'normal' | 'italic']

/**
 * Virtual modules with the parts of the page's fonts. The parts that most texts need come first. Styles must not name these files, because
 * the browser would request them before the first view is rendered.
 */
const modules: Record<string, () => Part[]> = {
  'virtual:inter': () => [...interParts('normal'), ...interParts('italic')],
  'virtual:emoji-font': emojiParts,
}

export const fontFaces: Plugin = {
  name: 'font-faces',
  resolveId: (id) => (Object.hasOwn(modules, id) ? `\0${id}` : null),
  load(id) {
    const parts = id.startsWith('\0') && modules[id.slice(1)]?.()
    return parts ? moduleOf(parts) : null
  },
  generateBundle() {
    // The licences of the fonts require that their texts are distributed.
    for (const name of ['@fontsource-variable/inter', '@infolektuell/noto-color-emoji']) {
      const source = readFileSync(join(folderOf(name), 'LICENSE'), 'utf8')
      this.emitFile({ type: 'asset', fileName: `assets/${name.split('/')[1]}-license.txt`, source })
    }
  },
}

function interParts(style: 'normal' | 'italic'): Part[] {
  const folder = folderOf('@fontsource-variable/inter')
  const { latin, ...others } = JSON.parse(readFileSync(join(folder, 'unicode.json'), 'utf8')) as Record<string, string>
  return Object.entries({ latin, ...others }).map(([name, range]) => [
    join(folder, `files/inter-${name}-wght-${style}.woff2`),
    range!,
    style,
  ])
}

/** This package has the ranges only in its styles. */
function emojiParts(): Part[] {
  const folder = folderOf('@infolektuell/noto-color-emoji')
  const styles = readFileSync(join(folder, 'index.css'), 'utf8')
  return [...styles.matchAll(/url\(\.\/(files\/\d+\.woff2)\)[^}]*?unicode-range:\s*([^;]+);/g)].map(
    ([, file, range]) => [join(folder, file!), range!.replaceAll(/\s/g, ''), 'normal'],
  )
}

function moduleOf(parts: Part[]): { code: string; moduleType: 'js' } {
  if (parts.length === 0) throw new Error('The package of a font has no parts in the expected form')
  const imports = parts.map(([file], index) => `import file${index} from ${JSON.stringify(`${file}?url`)}`)
  const list = parts.map(
    ([, range, style], index) => `[file${index},${JSON.stringify(range)},${JSON.stringify(style)}]`,
  )
  return { code: `${imports.join('\n')}\nexport default [${list.join()}]`, moduleType: 'js' }
}
