import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Script } from 'node:vm'

/**
 * Where the script of the first view leaves what other parts import from it. The file of the module keeps the name that
 * Vite gave it: whoever changes what this file writes must change that name too, because browsers keep files by their
 * names.
 */
const exportsName = 'parleyFirstView'

/**
 * Makes a classic script of the module that the built page begins with. Chromium compiles a classic script that the service worker keeps
 * once, when it is installed; a module is compiled anew at every start. The module's file stays for the other parts of the page: it has the
 * same exports, and takes them from the script. Returns its address.
 * @throws Error when the built files are not as Vite writes them.
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
  // Throws when the script has what only a module may have.
  new Script(script)
  const name = `first-${createHash('sha256').update(script).digest('base64url').slice(0, 8)}.js`
  await writeFile(join(outDir, 'assets', name), script)
  const taken = exported.map((each) => `${each.name}:${each.taken}`).join()
  const exports = exported.map((each) => `${each.taken} as ${each.name}`).join()
  await writeFile(file, `const{${taken}}=self.${exportsName};export{${exports}};`)
  await writeFile(page, html.replace(tag, `<script defer src="/assets/${name}"></script>`))
  return `/assets/${module}`
}
