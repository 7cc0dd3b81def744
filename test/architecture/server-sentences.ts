import { child, children, createResolver, isFunction, type Node, nameOf, parseSources } from './sources.ts'

/** A sentence in which `null` stands for a value that is only known at run time. */
type Pattern = (string | null)[]

/** A way in which a text can be composed, with the files that take part in it. */
interface Text {
  pattern: Pattern
  files: string[]
}

interface Sentence {
  /** The values are `{0}`, `{1}`, … */
  sentence: string
  /** The files with its parts, ending with the one that throws it. */
  files: string[]
}

/** The most steps from a text to the error that contains it. */
const maxDepth = 8

/**
 * Finds the sentences of all errors that the code creates, by following the texts to where they are written. `furtherSinks` finds further
 * expressions that become sentences.
 */
export function findSentences(patterns: string[], furtherSinks: (all: (type: string) => Node[]) => Node[]): Sentence[] {
  const modules = parseSources(patterns)
  const { declarationOf } = createResolver(modules)
  const all = (type: string) => [...modules.values()].flatMap(({ nodes }) => nodes.get(type) ?? [])
  const usesByName = Map.groupBy(all('Identifier').filter(isValue), (name) => nameOf(name)!)
  const sinks = [...argumentsOf(all, 'ApiError', 2), ...furtherSinks(all)]
  return sinks.flatMap((sink) =>
    textsOf(sink, new Map(), 0).map(({ pattern, files }) => ({ sentence: print(pattern), files })),
  )

  /** All texts that an expression can have. `bound` has the arguments of the functions that were entered. */
  function textsOf(node: Node, bound: Map<Node, Node>, depth: number): Text[] {
    const here = [node.module.file]
    const unknown: Text[] = [{ pattern: [null], files: here }]
    if (depth > maxDepth) return unknown
    const next = (inner: Node) => textsOf(inner, bound, depth + 1)
    switch (node.type) {
      case 'Literal':
        return [{ pattern: [typeof node.value === 'string' ? node.value : null], files: here }]
      case 'TemplateLiteral': {
        const quasis = children(node, 'quasis').map(({ value }) => (value as { cooked: string }).cooked)
        return children(node, 'expressions').reduce(
          (texts, expression, index) =>
            joined(joined(texts, partsOf(next(expression))), [{ pattern: [quasis[index + 1]!], files: here }]),
          [{ pattern: [quasis[0]!], files: here }] as Text[],
        )
      }
      case 'BinaryExpression':
        return node.operator === '+' ? joined(next(child(node, 'left')!), next(child(node, 'right')!)) : unknown
      case 'ConditionalExpression':
        return [...next(child(node, 'consequent')!), ...next(child(node, 'alternate')!)]
      case 'LogicalExpression':
        return [...(node.operator === '&&' ? [] : next(child(node, 'left')!)), ...next(child(node, 'right')!)]
      case 'TSAsExpression':
      case 'TSNonNullExpression':
      case 'TSSatisfiesExpression':
      case 'ParenthesizedExpression':
      case 'ChainExpression':
        return next(child(node, 'expression')!)
      case 'Identifier':
        if (node.name === 'undefined') return []
        return textsOfName(node, bound, depth)
      case 'MemberExpression':
        return membersOf(node)?.flatMap(next) ?? unknown
      case 'CallExpression': {
        const called = calledBy(node)
        return called.length === 0 ? unknown : called.flatMap((each) => resultsOf(each, node, bound, depth + 1))
      }
      default:
        return unknown
    }
  }

  function textsOfName(node: Node, bound: Map<Node, Node>, depth: number): Text[] {
    const unknown: Text[] = [{ pattern: [null], files: [node.module.file] }]
    const declaration = declarationOf(nameOf(node)!, node)
    if (!declaration) return unknown
    if (declaration.type === 'VariableDeclarator') {
      const value = child(declaration, 'init')
      const isConstant =
        child(declaration, 'id')!.type === 'Identifier' && declaration.parent!.kind === 'const' && value
      return isConstant ? textsOf(value, bound, depth + 1) : unknown
    }
    const owner = declaration.parent!
    if (!isFunction(owner)) return unknown
    const isDefault = declaration.type === 'AssignmentPattern'
    if ((isDefault ? child(declaration, 'left')! : declaration).type !== 'Identifier') return unknown
    const fallback = isDefault ? textsOf(child(declaration, 'right')!, bound, depth + 1) : []
    const given = bound.get(declaration)
    if (given) return textsOf(given, bound, depth + 1)
    const index = children(owner, 'params').indexOf(declaration)
    const uses = usesOf(owner)
    if (uses.length === 0) return unknown
    return uses.flatMap((use) => {
      const call = use.parent!
      // The function is passed on as a value.
      if (child(call, 'callee') !== use) return unknown
      const argument = children(call, 'arguments')[index]
      const texts = argument ? textsOf(argument, bound, depth + 1) : fallback
      return texts.map(({ pattern, files }) => ({ pattern, files: [...files, call.module.file] }))
    })
  }

  /** Where the name of a function is used as a value. */
  function usesOf(owner: Node): Node[] {
    const declaration = owner.type === 'FunctionDeclaration' ? owner : owner.parent!
    const name = nameOf(child(declaration, 'id'))
    if (name === undefined || !['FunctionDeclaration', 'VariableDeclarator'].includes(declaration.type)) return []
    return (usesByName.get(name) ?? []).filter((use) => declarationOf(name, use) === declaration)
  }

  /** The functions that a call may enter: a named one, or each one of an object such as `sentences[keyword](…)`. */
  function calledBy(call: Node): Node[] {
    const callee = child(call, 'callee')!
    const values = callee.type === 'Identifier' ? [initialValueOf(callee)] : (membersOf(callee) ?? [])
    return values.filter((each) => each !== undefined).filter(isFunction)
  }

  function initialValueOf(name: Node): Node | undefined {
    const declaration = declarationOf(nameOf(name)!, name)
    return declaration?.type === 'VariableDeclarator' ? child(declaration, 'init') : declaration
  }

  /** The possible values of `object.name` or `object[…]`, if the object is a constant. */
  function membersOf(node: Node): Node[] | undefined {
    if (node.type !== 'MemberExpression') return undefined
    const object = child(node, 'object')!
    const value = object.type === 'Identifier' ? initialValueOf(object) : undefined
    if (value?.type !== 'ObjectExpression') return undefined
    const property = child(node, 'property')!
    const properties = children(value, 'properties').filter(({ type }) => type === 'Property')
    const chosen = node.computed
      ? properties
      : properties.filter((each) => nameOf(child(each, 'key')) === nameOf(property))
    return chosen.map((each) => child(each, 'value')!)
  }

  function resultsOf(called: Node, call: Node, bound: Map<Node, Node>, depth: number): Text[] {
    const given = new Map(bound)
    children(called, 'params').forEach((parameter, index) => {
      const argument = children(call, 'arguments')[index]
      if (argument) given.set(parameter, argument)
    })
    const body = child(called, 'body')!
    const returns = body.type === 'BlockStatement' ? returnsOf(called) : [body]
    return returns.flatMap((each) => textsOf(each, given, depth + 1))
  }
}

export function returnsOf(called: Node): Node[] {
  const ownerOf = (node: Node) => {
    let owner = node.parent
    while (owner && !isFunction(owner)) owner = owner.parent
    return owner
  }
  return (called.module.nodes.get('ReturnStatement') ?? [])
    .filter((each) => ownerOf(each) === called)
    .flatMap((each) => child(each, 'argument') ?? [])
}

/** Whether an identifier is read, and neither declares something nor is a key or a part of an import. */
function isValue(name: Node): boolean {
  const { parent } = name
  if (!parent || /^(Import|Export)|Pattern$|^TS/.test(parent.type)) return false
  if (parent.type === 'MemberExpression') return parent.computed === true || parent.object === name
  if (parent.type === 'Property') return parent.value === name && parent.parent!.type === 'ObjectExpression'
  return parent.id !== name && (!isFunction(parent) || parent.body === name)
}

function classOf(node: Node): Node | undefined {
  let owner = node.parent
  while (owner && owner.type !== 'ClassDeclaration') owner = owner.parent
  return owner
}

const joined = (texts: Text[], following: Text[]): Text[] =>
  texts.flatMap((before) =>
    following.map((after) => ({
      pattern: [...before.pattern, ...after.pattern],
      files: [...before.files, ...after.files],
    })),
  )

/** A part that is unknown in one case is a value in all cases. */
const partsOf = (texts: Text[]): Text[] =>
  texts
    .filter(isUnknown)
    .slice(0, 1)
    .concat(texts.some(isUnknown) ? [] : texts)

const isUnknown = ({ pattern }: Text) => pattern.every((part) => part === null || part === '')

/** An argument of each `new Name(…)`, and of `super(…)` in its subclasses. */
export function argumentsOf(all: (type: string) => Node[], name: string, index: number): Node[] {
  const created = all('NewExpression').filter((call) => nameOf(child(call, 'callee')) === name)
  const inherited = all('CallExpression').filter((call) => {
    const owner = child(call, 'callee')!.type === 'Super' ? classOf(call) : undefined
    return owner && nameOf(child(owner, 'superClass')) === name
  })
  return [...created, ...inherited].flatMap((call) => children(call, 'arguments')[index] ?? [])
}

function print(pattern: Pattern): string {
  let values = 0
  return pattern.map((part) => part ?? `{${values++}}`).join('')
}
