import { describe, expect, test } from 'vitest'
import { faultsOf, folder, load } from './load.testing.ts'

const tree = "{ server: { port: 1234 }, auth: { templates: { textVersion: (link) => 'Go to ' + link } } }"

describe('the configuration file', () => {
  test.each([
    ['parley.config.json', '\uFEFF{"server": {"port": 1234}}'],
    ['parley.config.js', `export default ${tree}`],
    ['parley.config.mjs', `export default ${tree}`],
    ['parley.config.ts', `const port: number = 1234\nexport default { server: { port } }`],
  ])('%s is found in the working directory', async (name, content) => {
    const cwd = await folder({ 'package.json': '{"type": "module"}', [name]: content })
    expect((await load({ cwd })).server.port).toBe(1234)
  })

  test('a TypeScript module exports the mail templates', async () => {
    const cwd = await folder({
      'parley.config.ts': `
        const textVersion = (link: string, minutes: number): string => \`\${link} (\${minutes} min)\`
        export default { auth: { templates: { textVersion, htmlVersion: undefined } } }`,
    })
    const { textVersion, htmlVersion } = (await load({ cwd })).auth.templates
    expect(textVersion?.('https://chat/?token=t', 15)).toBe('https://chat/?token=t (15 min)')
    expect(htmlVersion).toBeUndefined()
  })

  test('PARLEY_CONFIG names another, --config wins over it', async () => {
    const cwd = await folder({ 'a.json': '{"server": {"port": 1}}', 'b.json': '{"server": {"port": 2}}' })
    const env = { PARLEY_CONFIG: 'a.json' }

    expect((await load({ cwd, env })).server.port).toBe(1)
    expect((await load({ cwd, env, argv: ['--config', 'b.json'] })).server.port).toBe(2)
  })

  test.each([
    [
      'c.json',
      '{"auth": {\n"jwtSecret": hunter2}}',
      /^c\.json cannot be loaded: it is not valid JSON at line 2, column 14$/,
    ],
    ['c.json', '{\n "auth": {} "x"}', /^c\.json cannot be loaded: it is not valid JSON at line 2, column 13$/],
    ['c.json', '{"a": "hunter2\n"}', /^c\.json cannot be loaded: it is not valid JSON at line 1, column 7$/],
    ['c.json', '{"a": [1, 2,]}', /^c\.json cannot be loaded: it is not valid JSON at line 1, column 13$/],
    ['c.json', '{\n  "a": {"b": 1},\n', /^c\.json cannot be loaded: it is not valid JSON at line 3, column 1$/],
    ['c.json', '{} {}', /^c\.json cannot be loaded: it is not valid JSON at line 1, column 4$/],
    ['c.json', '', /^c\.json cannot be loaded: it is not valid JSON at line 1, column 1$/],
    ['c.json', '["hunter2"]', /^c\.json must hold an object$/],
    ['c.mjs', 'export const secret = "hunter2"', /^c\.mjs must export by default an object$/],
    ['c.mjs', '\nthrow new Error("hunter2")', /^c\.mjs cannot be loaded: Error at line 2, column 7$/],
    ['c.mjs', 'throw "hunter2"', /^c\.mjs cannot be loaded: it throws a value that is not an Error$/],
    ['c.mjs', 'import "./hunter2.js"', /^c\.mjs cannot be loaded: ERR_MODULE_NOT_FOUND/],
    ['c.yaml', 'a: hunter2', /^c\.yaml must end in \.json, \.js, \.mjs, \.ts$/],
  ])('%s with %j is a fault that quotes nothing', async (name, content, message) => {
    const cwd = await folder({ [name]: content })
    const faults = await faultsOf({ cwd, argv: ['--config', name] })

    expect(faults).toEqual([{ key: 'config', message: expect.stringMatching(message) }])
    expect(JSON.stringify(faults)).not.toContain('hunter2')
  })

  test('a named file must exist; only one of the default files may exist', async () => {
    const two = await folder({ 'parley.config.json': '{}', 'parley.config.ts': 'export default {}' })

    expect(await faultsOf({ argv: ['--config=gone.json'] })).toEqual([
      { key: 'config', message: expect.stringMatching(/^there is no file .*gone\.json$/) },
    ])
    expect(await faultsOf({ cwd: two })).toMatchObject([
      { key: 'config', message: expect.stringContaining('are both there: keep one') },
    ])
  })

  test('unknown keys, also on the way', async () => {
    const cwd = await folder({
      'parley.config.json':
        '{"auth": {"authmode": "dev"}, "sever": {}, "oauth": {"presets": {"okta": {}}}, "server": 3000, "__proto__": {"a": 1}}',
    })
    const file = '(parley.config.json)'
    expect(await faultsOf({ cwd })).toEqual([
      { key: 'auth.authmode', message: `is not a configuration key ${file}. Did you mean auth.authMode?` },
      { key: 'sever', message: `is not a configuration key ${file}.` },
      { key: 'oauth.presets.okta', message: `is not a configuration key ${file}.` },
      { key: 'server', message: `must be an object ${file}` },
      { key: '__proto__', message: `is not a configuration key ${file}.` },
    ])
  })
})
