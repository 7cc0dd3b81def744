import { type Component, createElement, type FunctionComponent, type RenderableProps } from 'preact'

/**
 * A component that renders again only when its properties have changed. `preact/compat` has this function too, but it also processes the
 * properties of every element of the page.
 */
export function memo<Props extends object>(
  component: FunctionComponent<Props>,
  isSame: (one: Props, next: Props) => boolean = hasSameValues,
): FunctionComponent<Props> {
  return function Memo(this: Component<Props>, props: RenderableProps<Props>) {
    this.shouldComponentUpdate = (next) => !isSame(this.props, next)
    return createElement(component, props)
  }
}

function hasSameValues<Props extends object>(one: Props, next: Props): boolean {
  const names = Object.keys(one) as (keyof Props)[]
  return names.length === Object.keys(next).length && names.every((name) => Object.is(one[name], next[name]))
}
