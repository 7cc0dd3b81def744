import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Script } from 'node:vm'

/**
 * The global variable with the exports of the first script, for the other parts of the page. The file of the module keeps the name that
 * Vite gave it, and browsers cache files by name. So if you change what this function writes into that file, change its name too.
 */
const exportsName = 'parleyFirstView'

/**
 * Turns the first module of the built page into a classic script. Chromium compiles a cached classic script of a service worker once, but a
 * module at every start. The file of the module stays for the other parts of the page. It has the same exports, which it reads from the
 * script. Returns its address.
 * @throws Error when the built files do not have the form that Vite writes.
 */
export async function makeFirstScriptClassic(outDir: string) {
  const page = join(outDir, 'index.html')
  const html = await readFile(page, 'utf8')
  const [tag, module] = html.match(/<script type="module"[^>]* src="\/assets\/([^"]+)"><\/script>/) ?? []
  if (tag === undefined || module === undefined) throw new Error('The page begins with no module')
  const file = join(outDir, 'assets', module)
  const code = await readFile(file, 'utf8')
  const [last, list] = code.match(/export\s*\{([^{}]*)\};?\s*$/) ?? []
  if (last === undefined || list === undefined) throw new Error(`${module} does not end with its exports`)
  const exported = list.split(',').map((item, index) => {
    const [local, name = local] = item.trim().split(/\s+as\s+/)
    return { local, name, taken: `_${index}` }
  })
  const properties = exported.map(({ name, local }) => `${name}:${local}`).join()
  const script = `(()=>{"use strict";${code.slice(0, -last.length)};self.${exportsName}={${properties}}})();`
  // Throws when the script contains syntax that only modules may have.
  new Script(script)
  const name = `first-${createHash('sha256').update(script).digest('base64url').slice(0, 8)}.js`
  await writeFile(join(outDir, 'assets', name), script)
  const taken = exported.map((each) => `${each.name}:${each.taken}`).join()
  const exports = exported.map((each) => `${each.taken} as ${each.name}`).join()
  await writeFile(file, `const{${taken}}=self.${exportsName};export{${exports}};`)
  // After the styles, because the browser needs those first.
  await writeFile(
    page,
    html.replace(tag, '').replace('</head>', `<script defer src="/assets/${name}"></script></head>`),
  )
  return `/assets/${module}`
}
