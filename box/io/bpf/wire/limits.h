/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How far headers are walked: the constants of these names in core/wire. A test of box/io compares them. */
#ifndef WINDLASS_WIRE_LIMITS_H
#define WINDLASS_WIRE_LIMITS_H

#define LINK_LAYERS_MAX 2	/* link layers behind the Ethernet header */
#define EXTENSION_HEADERS_MAX 8 /* IPv6 extension headers */
#define EXTENSION_BYTES_MAX 2048 /* of IPv6 extension headers */

#endif
