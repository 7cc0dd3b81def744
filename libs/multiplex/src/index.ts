export { type Carrier, carryConnections, protocol } from './carrier.ts'
