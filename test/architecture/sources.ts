import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseSync } from 'rolldown/utils'

export const root = path.join(import.meta.dirname, '../..')

/** A node of a syntax tree, in the form of ESTree. */
export interface Node {
  type: string
  start: number
  parent: Node | undefined
  module: Module
  [field: string]: unknown
}

interface Module {
  file: string
  program: Node
  /** All nodes, by their type. */
  nodes: Map<string, Node[]>
}

export const child = (node: Node, field: string) => node[field] as Node | undefined
export const children = (node: Node, field: string) => (node[field] ?? []) as Node[]
export const nameOf = (node: Node | undefined) => (node?.name ?? node?.value) as string | undefined

/** Whether a file of a service or lib belongs to its tests. */
export const isTestFile = (file: string) => /\.(test|testing|fixture)\.ts$|\/testing\/|\/test\//.test(file)

/** Parses the product's own code in these folders, without its tests. */
export function parseSources(patterns: string[]): Map<string, Module> {
  const files = globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] }).sort()
  return new Map(files.filter((file) => !isTestFile(file)).map((file) => [file, parse(file)]))
}

function parse(file: string): Module {
  const { program, errors } = parseSync(file, readFileSync(path.join(root, file), 'utf8'))
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]!.message}`)
  const module: Module = { file, program: program as unknown as Node, nodes: new Map() }
  visit(module.program, undefined, module)
  return module
}

function visit(node: Node, parent: Node | undefined, module: Module) {
  const known = module.nodes.get(node.type)
  if (known) known.push(node)
  else module.nodes.set(node.type, [node])
  for (const inner of Object.values(node)) {
    if (Array.isArray(inner)) for (const each of inner) visitIfNode(each, node, module)
    else visitIfNode(inner, node, module)
  }
  node.parent = parent
  node.module = module
}

function visitIfNode(value: unknown, parent: Node, module: Module) {
  if (typeof value === 'object' && value !== null && 'type' in value) visit(value as Node, parent, module)
}

/** Finds declarations of names, also in other files. */
export function createResolver(modules: Map<string, Module>) {
  /** The node that declares the name which is used at `at`: a function, a class, a variable, or a parameter. */
  function declarationOf(name: string, at: Node): Node | undefined {
    for (let scope = at.parent; scope; scope = scope.parent) {
      const found = isFunction(scope) ? parameterOf(scope, name) : declaredIn(scope, name)
      if (found) return found
    }
    return undefined
  }

  function declaredIn(scope: Node, name: string): Node | undefined {
    if (scope.type !== 'Program' && scope.type !== 'BlockStatement') return undefined
    for (const statement of children(scope, 'body')) {
      if (statement.type === 'ImportDeclaration') {
        const imported = children(statement, 'specifiers').find((each) => nameOf(child(each, 'local')) === name)
        if (imported) return followImport(statement, nameOf(child(imported, 'imported')) ?? name)
      }
      const found = declares(child(statement, 'declaration') ?? statement, name)
      if (found) return found
    }
    return undefined
  }

  function followImport({ module, source }: Node, name: string): Node | undefined {
    const target = fileOf((source as Node).value as string, module.file)
    return target === undefined ? undefined : exportOf(target, name)
  }

  function exportOf(file: string, name: string): Node | undefined {
    const module = modules.get(file)
    if (!module) return undefined
    const own = declaredIn(module.program, name)
    if (own) return own
    for (const statement of children(module.program, 'body')) {
      const source = child(statement, 'source')
      const target = source && fileOf(source.value as string, file)
      if (!target) continue
      if (statement.type === 'ExportAllDeclaration') {
        const found = exportOf(target, name)
        if (found) return found
      } else if (statement.type === 'ExportNamedDeclaration') {
        const exported = children(statement, 'specifiers').find((each) => nameOf(child(each, 'exported')) === name)
        if (exported) return exportOf(target, nameOf(child(exported, 'local'))!)
      }
    }
    return undefined
  }

  function fileOf(specifier: string, from: string): string | undefined {
    if (specifier.startsWith('.')) return path.join(path.dirname(from), specifier)
    const lib = /^@parley\/([^/]+)$/.exec(specifier)?.[1]
    return lib === undefined ? undefined : `libs/${lib}/src/index.ts`
  }

  return { declarationOf }
}

export const isFunction = ({ type }: Node) =>
  type === 'ArrowFunctionExpression' || type === 'FunctionExpression' || type === 'FunctionDeclaration'

/** The parameter itself, or the pattern of the parameter that contains the name. */
function parameterOf(scope: Node, name: string): Node | undefined {
  return children(scope, 'params').find((each) => bindsName(each, name))
}

function bindsName(pattern: Node, name: string): boolean {
  switch (pattern.type) {
    case 'Identifier':
      return pattern.name === name
    case 'AssignmentPattern':
      return bindsName(child(pattern, 'left')!, name)
    case 'ObjectPattern':
      return children(pattern, 'properties').some((each) => bindsName(child(each, 'value') ?? each, name))
    case 'RestElement':
      return bindsName(child(pattern, 'argument')!, name)
    case 'ArrayPattern':
      return children(pattern, 'elements').some((each) => each !== null && bindsName(each, name))
    case 'TSParameterProperty':
      return bindsName(child(pattern, 'parameter')!, name)
    default:
      return false
  }
}

function declares(statement: Node, name: string): Node | undefined {
  if (statement.type === 'FunctionDeclaration' || statement.type === 'ClassDeclaration')
    return nameOf(child(statement, 'id')) === name ? statement : undefined
  if (statement.type !== 'VariableDeclaration') return undefined
  return children(statement, 'declarations').find((each) => bindsName(child(each, 'id')!, name))
}
