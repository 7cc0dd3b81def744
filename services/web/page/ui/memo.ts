import { type Component, createElement, type FunctionComponent, type RenderableProps } from 'preact'

/**
 * A component that is drawn again only when its properties are no longer the same. `preact/compat` has this too, but it also
 * looks at the properties of each element of the page.
 */
export function memo<Props extends object>(
  draw: FunctionComponent<Props>,
  isSame: (one: Props, next: Props) => boolean = hasSameValues,
): FunctionComponent<Props> {
  return function Memo(this: Component<Props>, props: RenderableProps<Props>) {
    this.shouldComponentUpdate = (next) => !isSame(this.props, next)
    return createElement(draw, props)
  }
}

function hasSameValues<Props extends object>(one: Props, next: Props): boolean {
  const names = Object.keys(one) as (keyof Props)[]
  return names.length === Object.keys(next).length && names.every((name) => Object.is(one[name], next[name]))
}
